"""`casemate.cad.Reward` in TRL's own GRPOTrainer, with a model small enough to be made here.

The vocabulary is one word for the prompt and one for each answer, so a completion of a single token is a whole script.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from casemate import Host
from casemate.cad import Checks, Reward

PROMPT = "a block"
GOOD = "```python\nimport cadquery as cq\nresult = cq.Workplane().box(1, 2, 3)\n```"
WORTH = {
    "I would rather not.": 0.0,
    "```python\nimport os\n```": 0.1,
    "```python\nimport cadquery as cq\nresult = cq.Workplane().box(wide, 2, 3)\n```": 0.1,
    "```python\nimport cadquery as cq\nresult = cq.Workplane()\n```": 0.4,
    "```python\nimport cadquery as cq\nresult = cq.Workplane().box(1, 2, 4)\n```": 0.8,
    GOOD: 1.0,
}
"""By hand, from the documented scale: two checks are asked for, and the last but one passes one of them."""


def tokenizer() -> PreTrainedTokenizerFast:
    words = ["<pad>", "<eos>", "<unk>", PROMPT, *WORTH]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def trainer(reward: Any, directory: Path, steps: int) -> GRPOTrainer:
    words = tokenizer()
    torch.manual_seed(1)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(words),
            n_positions=8,
            n_embd=16,
            n_layer=1,
            n_head=1,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=1,
        )
    )
    checks = {"bounding_box": [1.0, 2.0, 3.0], "solids": 1}
    rows = Dataset.from_list([{"prompt": PROMPT, "checks": checks}] * 8)
    config = GRPOConfig(
        output_dir=str(directory), max_steps=steps, per_device_train_batch_size=16, num_generations=16,
        max_completion_length=1, learning_rate=0.05, logging_steps=1, report_to=[], use_cpu=True, save_strategy="no",
        mask_truncated_completions=False, beta=0.0, log_completions=False, bf16=False, temperature=1.0,
    )  # fmt: skip
    return GRPOTrainer(model=model, reward_funcs=reward, args=config, train_dataset=rows, processing_class=words)


def test_a_trainer_asks_for_rewards_and_learns_from_them(tmp_path: Path) -> None:
    heard: list[tuple[str, float | None]] = []

    class Kept(Reward):
        def __call__(self, *args: Any, **columns: Any) -> list[float | None]:
            found = super().__call__(*args, **columns)
            heard.extend(zip(columns["completions"], found, strict=True))
            return found

    with Host() as host:
        made = trainer(Kept(profile="strongest", host=host), tmp_path, steps=12)
        made.train()
    assert len(heard) >= 12 * 16
    told = {text: reward for text, reward in heard if text in WORTH}
    assert len(told) == len(WORTH)
    assert told == pytest.approx(WORTH)
    logged = [entry for entry in made.state.log_history if "rewards/casemate/mean" in entry]
    assert logged[-1]["rewards/casemate/mean"] > logged[0]["rewards/casemate/mean"]
    assert all(0 <= entry["casemate_parts"] <= 1 for entry in logged)


def test_conversations_are_judged_too() -> None:
    with Host() as host:
        reward = Reward(Checks(bounding_box=(1, 2, 3)), profile="strongest", host=host)
        found = reward(completions=[[{"role": "assistant", "content": text}] for text in WORTH])
    assert found == pytest.approx(list(WORTH.values()))
