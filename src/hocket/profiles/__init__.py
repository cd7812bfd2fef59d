"""What models can take and give, as data: a table, which a program may add to and overrule.

The table is loaded when a model is first looked up.
"""

from hocket.profiles.lookup import find_profile, set_profile
from hocket.profiles.profile import ModelProfile, ModelProfileRegistry

__all__ = ["ModelProfile", "ModelProfileRegistry", "find_profile", "set_profile"]
