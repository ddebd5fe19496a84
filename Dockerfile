# An image that serves one export, which `mtbert export VARIANT out/graphs --format onnx` wrote: docs/using.md
#   docker build --build-context export=out/graphs -t graphs .
#   docker run --read-only -p 8000:8000 graphs
FROM python:3.11-slim AS packages
COPY requirements/serve.lock /
RUN python -m venv /packages \
 && /packages/bin/pip install --no-cache-dir --no-deps --no-compile --require-hashes -r /serve.lock

FROM python:3.11-slim
COPY --from=packages /packages /packages
COPY src/mtbert /code/mtbert
COPY --from=export . /export
ENV PATH=/packages/bin:$PATH PYTHONPATH=/code PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/ready', timeout=4)"]
ENTRYPOINT ["python", "-m", "mtbert", "serve", "/export", "--host", "0.0.0.0"]
