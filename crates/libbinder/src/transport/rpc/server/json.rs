//! Objects of JSON, as far as a server's report has them: numbers, texts and lists of objects.
//!
//! The library has no other use for JSON, and its programs need no serializer for this.

/// An object that is being written, member by member.
pub(super) struct JsonObject<'a> {
    text: &'a mut String,
    is_empty: bool,
}

impl<'a> JsonObject<'a> {
    /// Appends an object with what `fill` gives to it.
    pub(super) fn write(text: &'a mut String, fill: impl FnOnce(&mut Self)) {
        text.push('{');
        let mut object = Self { text, is_empty: true };
        fill(&mut object);
        object.text.push('}');
    }

    /// Adds a number, or null.
    pub(super) fn number(&mut self, name: &str, value: impl Into<Option<u64>>) {
        self.name(name);
        match value.into() {
            Some(value) => self.text.push_str(&value.to_string()),
            None => self.text.push_str("null"),
        }
    }

    /// Adds a text, or null.
    pub(super) fn text(&mut self, name: &str, value: Option<&str>) {
        self.name(name);
        match value {
            Some(value) => self.quote(value),
            None => self.text.push_str("null"),
        }
    }

    /// Adds a list of objects, each of which `fill` fills from an item.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(&mut JsonObject<'_>, T),
    ) {
        self.name(name);
        self.text.push('[');
        for (place, item) in items.into_iter().enumerate() {
            if place > 0 {
                self.text.push(',');
            }
            JsonObject::write(self.text, |object| fill(object, item));
        }
        self.text.push(']');
    }

    fn name(&mut self, name: &str) {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.text.push(',');
        }
        self.quote(name);
        self.text.push(':');
    }

    fn quote(&mut self, value: &str) {
        self.text.push('"');
        for letter in value.chars() {
            match letter {
                '"' | '\\' => self.text.extend(['\\', letter]),
                // Also those that JSON allows: people look at it on terminals.
                letter if letter.is_control() => {
                    self.text.push_str(&format!("\\u{:04x}", u32::from(letter)));
                }
                letter => self.text.push(letter),
            }
        }
        self.text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_separated_and_texts_are_quoted() {
        let mut text = String::new();
        JsonObject::write(&mut text, |object| {
            object.text("a", Some("\"\\\n\u{1b}\u{9b}\u{fc}"));
            object.text("b", None);
            object.number("c", None);
            object.list("d", [1, 2], |object, item| object.number("e", item));
            object.list("f", [], |object, item: u64| object.number("e", item));
        });
        let text = text.replace('\u{fc}', "as it is");
        assert_eq!(
            text,
            r#"{"a":"\"\\\u000a\u001b\u009bas it is","b":null,"c":null,"d":[{"e":1},{"e":2}],"f":[]}"#
        );
    }
}
