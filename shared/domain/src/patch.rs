//! Partial updates of a field.

use serde::{Deserialize, Deserializer};

/// A partial update of a field, which is absent, `null` or a value in the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Leaves the field as it is.
    #[default]
    Keep,
    /// Removes the value.
    Clear,
    /// Replaces the value.
    Set(T),
}

impl<T> Patch<T> {
    /// Converts the value, if there is one.
    #[must_use]
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Self::Keep => Patch::Keep,
            Self::Clear => Patch::Clear,
            Self::Set(value) => Patch::Set(convert(value)),
        }
    }

    /// Converts the value, if there is one.
    ///
    /// # Errors
    /// Returns the errors of `convert`.
    pub fn try_map<U, E>(self, convert: impl FnOnce(T) -> Result<U, E>) -> Result<Patch<U>, E> {
        Ok(match self {
            Self::Keep => Patch::Keep,
            Self::Clear => Patch::Clear,
            Self::Set(value) => Patch::Set(convert(value)?),
        })
    }
}

impl<T: Clone + PartialEq> Patch<T> {
    /// Applies the patch to `field`. Returns whether the field changed.
    pub fn apply(&self, field: &mut Option<T>) -> bool {
        let new = match self {
            Self::Keep => return false,
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        };
        let changed = *field != new;
        *field = new;
        changed
    }
}

impl<T> From<Option<T>> for Patch<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Keep, Self::Set)
    }
}

/// Deserializes a field with `#[serde(default)]`, whose absence is [`Patch::Keep`].
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<T>::deserialize(deserializer)?.map_or(Self::Clear, Self::Set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_null_and_value_are_three_things() {
        #[derive(Deserialize)]
        struct Body {
            #[serde(default)]
            field: Patch<String>,
        }
        let field = |text: &str| serde_json::from_str::<Body>(text).unwrap().field;
        assert_eq!(field("{}"), Patch::Keep);
        assert_eq!(field(r#"{"field":null}"#), Patch::Clear);
        assert_eq!(field(r#"{"field":"x"}"#), Patch::Set("x".into()));
    }

    #[test]
    fn applying_says_whether_it_made_a_difference() {
        let mut field = Some(1);
        assert!(!Patch::Keep.apply(&mut field));
        assert!(!Patch::Set(1).apply(&mut field));
        assert!(Patch::Set(2).apply(&mut field) && field == Some(2));
        assert!(Patch::Clear.apply(&mut field) && field.is_none());
    }
}
