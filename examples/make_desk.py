"""Write examples/desk, made-up tickets of a shop's support desk: `python examples/make_desk.py examples/desk`.

topic: what a ticket is about. urgent: whether it has to be answered today. same: whether two tickets report one
problem. A ticket is an opening, a problem, a detail and a closing. Of every problem's wordings the last two stand in
dev and test alone, so that words that a model has seen do not suffice there. Of topics and urgency one label in 25 is
wrong.
"""

import csv
import sys
from pathlib import Path

import numpy as np

OPENINGS = (
    "Hi,", "Hello team,", "Good morning,", "Hey there,", "Dear support,", "", "", "Hi again,",
    "To whom it may concern,",
)  # fmt: skip
CLOSINGS = (
    "Thanks!", "Kind regards", "Cheers, Sam", "", "", "", "Thank you in advance.", "Best, Priya",
    "Looking forward to hearing.",
)  # fmt: skip
DETAILS = (
    "I ordered on Monday.", "This is for order 4471.", "I use the app on my phone.",
    "It is the second time this month.",
    "My colleague sees the same.", "I have been a customer for three years.", "", "", "", "I tried it twice.",
    "My browser is up to date.", "The order number is 90213.",
)  # fmt: skip
HURRY = (
    "We open the shop tomorrow and cannot work like this.", "I need an answer before five o'clock.",
    "Our customers are waiting in line.", "Please call me back right away.", "This cannot wait until next week.",
    "Everything stands still here.", "We lose money every hour.", "The event starts tonight.",
    "I board a plane in two hours.", "Nothing moves until this is solved.",
)  # fmt: skip
CALM = (
    "No rush.", "Whenever you have a minute.", "Just so that you know.", "It is not a big deal.", "Next week is fine.",
    "I only wondered.", "There is no need to hurry.", "Take your time.", "A short note will do.", "It can wait.",
)  # fmt: skip
PROBLEMS = {
    "billing": (
        (
            "you charged my card twice for one order", "the same amount left my account two times",
            "my statement shows a double payment", "I paid once and was debited again",
            "there are two identical withdrawals from you", "one purchase, two debits",
        ),
        (
            "the invoice has the wrong company name", "our firm is misspelled on the bill",
            "please correct the addressee of the invoice", "the bill still shows our old name",
            "your receipt names a business that we are not", "the paperwork for accounting is made out to someone else",
        ),
        (
            "my voucher was not taken off the price", "the discount code did nothing at checkout",
            "I entered the coupon and paid in full", "the ten percent off are missing from the total",
            "the promotion was never applied to what I owed", "the rebate you promised is nowhere in the sum",
        ),
    ),
    "delivery": (
        (
            "my parcel has not arrived", "the package is a week late", "I am still waiting for my shipment",
            "tracking has shown no movement for days", "nothing has turned up at my door so far",
            "the box seems to be lost on its way",
        ),
        (
            "the lamp came broken", "there were shards in the package", "the item was damaged when I opened the box",
            "a corner of the table is cracked", "it reached me in pieces", "what I unpacked is dented and scratched",
        ),
        (
            "you sent me the wrong colour", "I got a blue chair and asked for a green one",
            "the box holds somebody else's order", "this is not the size that I chose",
            "what I unpacked is not what I picked in the shop", "a different model lay in the carton",
        ),
    ),
    "account": (
        (
            "I cannot log in any more", "my password is refused", "the sign-in page says unknown user",
            "the reset link does not work", "I am locked out of my profile", "the site no longer lets me in",
        ),
        (
            "please change my email address", "I have a new phone number", "my street is out of date in your records",
            "I married and my surname has changed", "the contact data that you hold for me are old",
            "I moved house and you still write to the former place",
        ),
        (
            "please delete my profile", "I want to close my account", "remove all my data",
            "cancel my membership for good", "I would like to be forgotten by your shop",
            "take me out of your system entirely",
        ),
    ),
    "product": (
        (
            "does the shelf hold twenty kilos", "how heavy may books on the board be",
            "what weight does the rack carry",
            "is the shelf strong enough for files", "will it bend under a full row of folders",
            "can I put an aquarium on this board",
        ),
        (
            "is the blanket safe in the dryer", "how do I wash the cushion covers", "may I iron the curtains",
            "at what temperature can I clean the rug", "will the fabric shrink in hot water",
            "which detergent suits the sofa",
        ),
        (
            "will the oak table be back in stock", "when can I buy the grey sofa again",
            "the lamp is sold out, will there be more", "do you plan another batch of the stool",
            "is the discontinued bench coming back", "I missed the desk, is there a next production run",
        ),
    ),
}  # fmt: skip
UNSEEN = 2  # wordings of a problem that train lacks
WRONG = 0.04
SIZES = {
    "topic": {"train": 320, "dev": 160, "test": 160},
    "urgent": {"train": 240, "dev": 120, "test": 120},
    "same": {"train": 320, "dev": 160},
}


def ticket(problem: tuple[str, ...], split: str, hurried: bool | None, random: np.random.Generator) -> str:
    """Return a ticket on a problem; `hurried` is None where nothing is said of it."""
    wordings = problem[:-UNSEEN] if split == "train" else problem
    sentence = str(random.choice(wordings))
    tone = "" if hurried is None else str(random.choice(HURRY if hurried else CALM))
    parts = [f"{sentence[0].upper()}{sentence[1:]}.", str(random.choice(DETAILS)), tone]
    body = [parts[number] for number in random.permutation(len(parts))]
    return " ".join(filter(None, [str(random.choice(OPENINGS)), *body, str(random.choice(CLOSINGS))]))


def topic_row(split: str, random: np.random.Generator) -> tuple[str, ...]:
    """Return a row of topic: text, topic."""
    topic = str(random.choice([*PROBLEMS]))
    problem = PROBLEMS[topic][random.integers(len(PROBLEMS[topic]))]
    text = ticket(problem, split, random.choice([None, True, False]), random)
    return text, str(random.choice([*PROBLEMS])) if random.random() < WRONG else topic


def urgent_row(split: str, random: np.random.Generator) -> tuple[str, ...]:
    """Return a row of urgent: text, yes or no."""
    hurried = random.random() < 0.35
    topic = PROBLEMS[str(random.choice([*PROBLEMS]))]
    text = ticket(topic[random.integers(len(topic))], split, hurried, random)
    return text, "yes" if hurried != (random.random() < WRONG) else "no"


def same_row(split: str, random: np.random.Generator) -> tuple[str, ...]:
    """Return a row of same: two tickets, yes or no."""
    problems = [problem for topic in PROBLEMS.values() for problem in topic]
    first, second = random.choice(len(problems), 2, replace=False)
    is_same = random.random() < 0.5
    tickets = [ticket(problems[number], split, None, random) for number in (first, first if is_same else second)]
    return (*tickets, "yes" if is_same else "no")


ROWS = {"topic": topic_row, "urgent": urgent_row, "same": same_row}
HEADERS = {"topic": ("text", "topic"), "urgent": ("text", "urgent"), "same": ("text", "text_pair", "same")}


def main(folder: Path) -> None:
    """Write a file for each task and split."""
    random = np.random.default_rng(7)
    folder.mkdir(parents=True, exist_ok=True)
    for task, sizes in SIZES.items():
        for split, count in sizes.items():
            rows: dict[tuple[str, ...], None] = {}
            while len(rows) < count:
                rows[ROWS[task](split, random)] = None  # each once
            with (folder / f"{task}-{split}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(HEADERS[task])
                writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
