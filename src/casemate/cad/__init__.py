"""Text to CAD: a model writes a script, a sandbox turns it into a part or into an account that the model can repair by.

The model is called from the caller's side, never from a sandbox; its key never enters one. The client of model servers
is `casemate.cad.openai_client.ChatCompletions`, by itself because its library takes long to import.
"""

from casemate.cad.checks import Checks
from casemate.cad.generators import Generator, Message, ModelError, Reply
from casemate.cad.loop import Generation, Progress, generate, replay
from casemate.cad.prompts import Prompts
from casemate.cad.record import Attempt, Record
from casemate.cad.reward import Judged, Reward, Scale

__all__ = [
    "Attempt",
    "Checks",
    "Generation",
    "Generator",
    "Judged",
    "Message",
    "ModelError",
    "Progress",
    "Prompts",
    "Record",
    "Reply",
    "Reward",
    "Scale",
    "generate",
    "replay",
]
