"""A pydantic model in an answer."""

from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, SkipValidation, ValidationError

from hocket.errors import OutputParserException
from hocket.output_parsers.json import BaseJSONOutputParser, schema_instructions

__all__ = ["PydanticOutputParser", "TBaseModel", "validate_answer"]

TBaseModel = TypeVar("TBaseModel", bound=BaseModel)


class PydanticOutputParser(BaseJSONOutputParser[TBaseModel], Generic[TBaseModel]):
    """Returns the instance of a pydantic model that an answer describes in JSON.

    As an answer comes in, an instance is shown whenever what stands firm makes a valid one. Fields that have a default
    may still change it then.

    Args:
        pydantic_object: the model's class.

    Examples:
        >>> from pydantic import BaseModel
        >>> from hocket import PydanticOutputParser
        >>> class Person(BaseModel):
        ...     name: str
        >>> PydanticOutputParser(pydantic_object=Person).parse('{"name": "Ada"}')
        Person(name='Ada')
    """

    pydantic_object: SkipValidation[type[TBaseModel]]
    _type_name: ClassVar[str] = "pydantic"

    def _read(self, value: object) -> TBaseModel:
        return validate_answer(self.pydantic_object, value)

    def _read_partial(self, value: object) -> TBaseModel | None:
        try:
            return self.pydantic_object.model_validate(value)
        except Exception:  # pydantic's, or one of a validator that meets half a value
            return None

    def _price(self, length: int) -> int:
        return length // 4

    def get_format_instructions(self) -> str:
        """Return words that ask for JSON of the model's schema."""
        return schema_instructions(self.pydantic_object)

    @property
    def OutputType(self) -> type[TBaseModel]:
        """The model."""
        return self.pydantic_object


def validate_answer(model: type[TBaseModel], value: object) -> TBaseModel:
    """Return the instance of ``model`` that ``value`` describes.

    Raises:
        OutputParserException: it describes none; the message says what is wrong with each field, for the model to read.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'the value'}: {fault['msg']}" for fault in error.errors()]
        message = f"the answer is no {model.__name__}: {'; '.join(faults)}"
        raise OutputParserException(message, observation=message, llm_output=repr(value)) from error
