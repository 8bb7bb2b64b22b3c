# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Anchoring: {{ title }}
#
# {{ about }}. Written by wheel {{ version }}; the prompts are its own, byte for byte. Every reply is kept in the run file:
# `wheel import kaggle PATH` reads it again with wheel's own reader.

# %%
import json
import math
import re

import kaggle_benchmarks as kbench
import numpy as np

# One prompt for each question and condition.
PROMPTS = json.loads({{ prompts }})
QUESTIONS = {{ questions }}
SEED = np.array({{ seed }}, dtype=np.uint32)
RESAMPLES = {{ resamples }}
# Share that an interval leaves out on each side, by the number of usable questions.
TAILS = {{ tails }}

# %%
NUMBER = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?(?: (thousand|million|billion|trillion))?$")
SCALES = {None: 1, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def estimate_in(reply, unit):
    """The one estimate of a reply in the format that was asked for, above 0; None for anything else.

    Stricter than wheel's own reader, so whatever it reads, that reads too.
    """
    visible = re.sub(r"<think>.*?</think>", "", reply or "", flags=re.S).rstrip()
    # The last line is the label with its number; anything else is left to wheel's own reader.
    label = re.match(r"[ *_`#>-]*estimate[ *_`]*:(.*)$", visible.rpartition("\n")[2], flags=re.I)
    if not label:
        return None
    text = label[1].strip(" *_`\r")
    if unit and text.lower().endswith(" " + unit.lower()):
        text = text[: -len(unit) - 1].rstrip()
    found = NUMBER.match(text.removesuffix("."))
    if not found:
        return None
    whole, fraction, exponent, scale = found.groups()
    value = float(whole.replace(",", "") + (fraction or "") + (exponent or "")) * SCALES[scale]
    return value if 0 < value < math.inf else None


def index_of(low, high, low_anchor, high_anchor):
    """Log ratio of the estimates over log ratio of the anchors, capped to [-1, 1]."""
    return max(-1.0, min(1.0, math.log(high / low) / math.log(high_anchor / low_anchor)))


def words(count):
    """The first words of wheel's random stream, ChaCha with 12 rounds."""
    blocks = -(-count // 16)
    state = np.zeros((blocks, 16), dtype=np.uint32)
    state[:, :4] = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    state[:, 4:12] = SEED
    state[:, 12] = np.arange(blocks)
    mixed = state.copy()

    def quarter(a, b, c, d):
        for target, source, other, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            mixed[:, target] += mixed[:, source]
            mixed[:, other] ^= mixed[:, target]
            mixed[:, other] = (mixed[:, other] << np.uint32(turn)) | (mixed[:, other] >> np.uint32(32 - turn))

    for _ in range(6):
        for turn in range(4):
            quarter(turn, 4 + turn, 8 + turn, 12 + turn)
        for turn in range(4):
            quarter(turn, 4 + (turn + 1) % 4, 8 + (turn + 2) % 4, 12 + (turn + 3) % 4)
    return (mixed + state).reshape(-1)[:count]


def interval_of(values):
    """95 % percentile bootstrap interval of the mean over questions, with wheel's own draws."""
    n = len(values)
    wide = words(n * RESAMPLES + 64).astype(np.uint64) * np.uint64(n)
    drawn, rest = (wide >> np.uint64(32)).astype(np.int64), wide & np.uint64(0xFFFFFFFF)
    # A draw whose remainder is that large looks at one more word; it happens once in some 100 million.
    places, at = [], 0
    for rare in [*np.flatnonzero(rest > np.uint64(2**32 - n)), None]:
        if rare is None or len(places) + rare - at >= n * RESAMPLES:
            places.append(drawn[at:])
            break
        if rare < at:
            continue
        carry = int(rest[rare]) + int(drawn[rare + 1]) >= 2**32
        places.extend([drawn[at:rare], drawn[rare : rare + 1] + int(carry)])
        at = rare + 2
    places = np.concatenate(places)[: n * RESAMPLES].reshape(RESAMPLES, n)
    means = np.array(values)[places].mean(axis=1)
    return tuple(np.quantile(means, [TAILS[n], 1 - TAILS[n]]))


# %%
@kbench.task(name="{{ name }} prompt", description="one prompt, in a chat of its own", store_task=False, store_run=False)
def ask(llm, place) -> dict:
    prompt = PROMPTS[place]
    reply = llm.prompt(prompt["text"])
    return {
        "qid": prompt["item"],
        "task": "{{ task }}",
        "condition": prompt["condition"],
        "anchor": prompt["anchor"],
        "repeat": 1,
        "reply": str(reply),
    }


@kbench.task(name="{{ name }}", description={{ description }}, version=1)
def measure(llm) -> {{ result_type }}:
    """{{ docstring }}"""
    estimates, lost = {}, 0
    for place, prompt in enumerate(PROMPTS):
        try:
            run = ask.run(llm, place)
            value = estimate_in(run.result["reply"], prompt["unit"])
        except Exception as error:  # one dead call must not cost the others their score
            print(f"{prompt['item']}, {prompt['condition']}: {error}")
            value = None
        if value is None:
            lost += 1
        estimates[prompt["item"], prompt["condition"]] = value
{{ scoring }}


# %%
measure.run(kbench.llm)

# %%
# %choose {{ name }}
