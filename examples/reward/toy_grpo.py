"""Group-relative policy optimisation (Shao et al. 2024, arXiv 2402.03300) on a toy policy, with rewards from sandboxes.

    python toy_grpo.py [PROFILE]

The policy chooses one of five scripts for a prompt, by a softmax over five numbers. Each step samples a group of eight,
asks Casemate for a reward of each, and raises the probability of what did better than its group. No model is needed.
"""

import math
import random
import sys

from casemate.cad import Checks, Reward

PROMPT = "a 20 × 20 × 10 mm block with a 5 mm hole"
IMPORT = "import cadquery as cq\n"
ACTIONS = (
    "I think a block with a hole would be nice.",
    f"```python\nimport os\n{IMPORT}result = cq.Workplane().box(20, 20, 10)\n```",
    f"```python\n{IMPORT}result = cq.Workplane().box(side, 20, 10)\n```",
    f"```python\n{IMPORT}result = cq.Workplane().box(20, 20, 10)\n```",
    f"```python\n{IMPORT}result = cq.Workplane().box(20, 20, 10).faces('>Z').workplane().hole(5)\n```",
)
GROUP, STEPS, RATE = 8, 12, 1.0


def softmax(logits: list[float]) -> list[float]:
    weights = [math.exp(value - max(logits)) for value in logits]
    return [weight / sum(weights) for weight in weights]


def main() -> None:
    reward = Reward(Checks(bounding_box=(20, 20, 10), holes=1), profile=sys.argv[1] if sys.argv[1:] else "cad")
    draw = random.Random(7)
    logits = [0.0] * len(ACTIONS)
    for step in range(STEPS):
        chosen = draw.choices(range(len(ACTIONS)), softmax(logits), k=GROUP)
        judged = reward.judge([ACTIONS[action] for action in chosen])
        rewards = [one.reward or 0.0 for one in judged]
        mean = sum(rewards) / GROUP
        spread = math.sqrt(sum((value - mean) ** 2 for value in rewards) / GROUP)
        probabilities = softmax(logits)
        for action, value in zip(chosen, rewards, strict=True):
            advantage = (value - mean) / (spread + 1e-4)
            for other, probability in enumerate(probabilities):
                logits[other] += RATE / GROUP * advantage * ((other == action) - probability)
        print(f"step {step + 1:2d}: mean reward {mean:.2f}, best action {softmax(logits)[-1]:.2f}")


if __name__ == "__main__":
    main()
