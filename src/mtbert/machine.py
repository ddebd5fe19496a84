"""What this machine has for trainings side by side: cores, and GPUs that the environment names."""

import os


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shares(jobs: int) -> list[dict[str, str]]:
    """What each worker's environment adds: its GPU, of those that the environment names; of too few, some share one."""
    found = gpus()
    return [{"CUDA_VISIBLE_DEVICES": found[job % len(found)]} if found else {} for job in range(jobs)]


def gpus() -> list[str]:
    """Those to choose from, as CUDA_VISIBLE_DEVICES names them."""
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [gpu.strip() for gpu in chosen.split(",") if gpu.strip()]
    import torch  # takes seconds

    return [str(index) for index in range(torch.cuda.device_count())]
