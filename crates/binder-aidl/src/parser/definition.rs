//! Declarations of types and of their members.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Parsed, Parser, deprecation};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::{
    Annotation, ConstantSyntax, Definition, DefinitionKind, Direction, EnumeratorSyntax,
    FieldSyntax, Identifier, MethodSyntax, ParameterSyntax,
};
use crate::token::TokenKind;

/// The members that a type may have beside constants and other types.
#[derive(Clone, Copy)]
enum AllowedMembers {
    Fields,
    Methods,
}

/// The declarations between the braces of a type.
#[derive(Default)]
struct TypeBody {
    constants: Vec<ConstantSyntax>,
    nested: Vec<Definition>,
    fields: Vec<FieldSyntax>,
    methods: Vec<MethodSyntax>,
}

/// The annotations and the comment before a declaration.
struct Head {
    deprecated: Option<String>,
    annotations: Vec<Annotation>,
}

impl Parser<'_, '_> {
    pub(super) fn definition(&mut self) -> Parsed<Definition> {
        let head = self.head()?;
        self.definition_of(head)
    }

    fn head(&mut self) -> Parsed<Head> {
        let deprecated = self.deprecation();
        Ok(Head { deprecated, annotations: self.annotations()? })
    }

    fn deprecation(&self) -> Option<String> {
        self.peek().comment.and_then(deprecation::note)
    }

    fn definition_of(&mut self, head: Head) -> Parsed<Definition> {
        // A comment may stand behind the annotations as well.
        let deprecated = head.deprecated.or_else(|| self.deprecation());
        let is_oneway = self.take("oneway").is_some();
        let keyword = self.peek();
        if is_oneway && !keyword.is("interface") {
            return self.complain("`interface`");
        }
        let known = ["interface", "parcelable", "union", "enum"];
        if !known.iter().any(|word| keyword.is(word)) {
            return self.complain("`interface`, `parcelable`, `union` or `enum`");
        }
        self.advance();
        let name = self.definition_name(keyword.is("parcelable"))?;
        let type_parameters = self.type_parameters()?;
        let mut body = TypeBody::default();
        let kind = match keyword.text {
            "enum" => DefinitionKind::Enumeration(self.enumerators()?),
            "interface" => {
                body = self.body(AllowedMembers::Methods)?;
                let methods = core::mem::take(&mut body.methods);
                DefinitionKind::Interface { is_oneway, methods }
            }
            "parcelable" if !self.peek().is("{") => self.foreign()?,
            _ => {
                body = self.body(AllowedMembers::Fields)?;
                let fields = core::mem::take(&mut body.fields);
                match keyword.text {
                    "union" => DefinitionKind::Union(fields),
                    _ => DefinitionKind::Parcelable(fields),
                }
            }
        };
        let TypeBody { constants, nested, .. } = body;
        let annotations = head.annotations;
        Ok(Definition { name, annotations, deprecated, type_parameters, kind, constants, nested })
    }

    /// The name of a type. `parcelable a.b.C;` declares a C within another type.
    fn definition_name(&mut self, is_parcelable: bool) -> Parsed<Identifier> {
        if !is_parcelable {
            return self.identifier();
        }
        let name = self.qualified_name()?;
        Ok(Identifier { text: name.dotted(), span: name.span })
    }

    fn type_parameters(&mut self) -> Parsed<Vec<Identifier>> {
        let mut parameters = Vec::new();
        if self.take("<").is_some() {
            loop {
                parameters.push(self.identifier()?);
                if self.take(",").is_none() {
                    break;
                }
            }
            self.expect(">")?;
        }
        Ok(parameters)
    }

    /// The words behind the name of a parcelable that is written by hand.
    fn foreign(&mut self) -> Parsed<DefinitionKind> {
        let mut rust_type = None;
        while self.peek().kind == TokenKind::Word {
            let word = self.peek();
            if !["cpp_header", "ndk_header", "rust_type"].contains(&word.text) {
                return self.complain("`{`, `;` or `rust_type`");
            }
            self.advance();
            let text = self.peek();
            if text.kind != TokenKind::Text {
                return self.complain("a text in quotes");
            }
            self.advance();
            if word.is("rust_type") {
                rust_type = Some((String::from(text.text.trim_matches('"')), text.span));
            }
        }
        if self.take(";").is_none() {
            return self.complain("`{` or `;`");
        }
        Ok(DefinitionKind::Foreign { rust_type })
    }

    fn enumerators(&mut self) -> Parsed<Vec<EnumeratorSyntax>> {
        self.expect("{")?;
        let mut enumerators = Vec::new();
        while !self.peek().is("}") {
            let deprecated = self.deprecation();
            let annotations = self.annotations()?;
            self.refuse(&annotations, "an enumerator");
            let name = self.identifier()?;
            let value = if self.take("=").is_some() { Some(self.expression()?) } else { None };
            enumerators.push(EnumeratorSyntax { name, value, deprecated });
            if self.take(",").is_none() {
                break;
            }
        }
        self.expect("}")?;
        Ok(enumerators)
    }

    /// Complains of annotations that say nothing where they are.
    fn refuse(&mut self, annotations: &[Annotation], what: &str) {
        for annotation in annotations {
            let message = alloc::format!("`@{}` says nothing of {what}", annotation.name);
            self.diagnostics.push(Diagnostic::error(annotation.span, message));
        }
    }

    fn body(&mut self, members: AllowedMembers) -> Parsed<TypeBody> {
        self.nested(|parser| {
            parser.expect("{")?;
            let mut body = TypeBody::default();
            while !parser.peek().is("}") && parser.peek().kind != TokenKind::End {
                if parser.member(members, &mut body).is_err() {
                    parser.recover();
                }
            }
            parser.expect("}")?;
            parser.take(";");
            Ok(body)
        })
    }

    fn member(&mut self, members: AllowedMembers, body: &mut TypeBody) -> Parsed<()> {
        let head = self.head()?;
        let next = self.peek();
        let is_oneway_interface = next.is("oneway") && self.peek_behind().is("interface");
        if next.is("const") {
            body.constants.push(self.constant(head)?);
        } else if is_oneway_interface
            || ["interface", "parcelable", "union", "enum"].iter().any(|word| next.is(word))
        {
            body.nested.push(self.definition_of(head)?);
        } else {
            match members {
                AllowedMembers::Fields => body.fields.push(self.field(head)?),
                AllowedMembers::Methods => body.methods.push(self.method(head)?),
            }
        }
        Ok(())
    }

    fn constant(&mut self, head: Head) -> Parsed<ConstantSyntax> {
        self.advance();
        let type_name = self.type_name(head.annotations)?;
        let name = self.identifier()?;
        self.expect("=")?;
        let value = self.expression()?;
        self.expect(";")?;
        Ok(ConstantSyntax { type_name, name, value, deprecated: head.deprecated })
    }

    fn field(&mut self, head: Head) -> Parsed<FieldSyntax> {
        let type_name = self.type_name(head.annotations)?;
        let name = self.identifier()?;
        let default = if self.take("=").is_some() { Some(self.expression()?) } else { None };
        self.expect(";")?;
        Ok(FieldSyntax { type_name, name, default, deprecated: head.deprecated })
    }

    fn method(&mut self, head: Head) -> Parsed<MethodSyntax> {
        let is_oneway = self.take("oneway").is_some();
        let return_type = self.type_name(head.annotations)?;
        let name = self.identifier()?;
        self.expect("(")?;
        let mut parameters = Vec::new();
        if !self.peek().is(")") {
            loop {
                parameters.push(self.parameter()?);
                if self.take(",").is_none() {
                    break;
                }
            }
        }
        self.expect(")")?;
        let code = if self.take("=").is_some() {
            if self.peek().kind != TokenKind::Integer {
                return self.complain("a number");
            }
            Some(self.word())
        } else {
            None
        };
        self.expect(";")?;
        let deprecated = head.deprecated;
        Ok(MethodSyntax { is_oneway, return_type, name, parameters, code, deprecated })
    }

    fn parameter(&mut self) -> Parsed<ParameterSyntax> {
        let annotations = self.annotations()?;
        let direction = self.direction();
        let type_name = self.type_name(annotations)?;
        let name = self.identifier()?;
        Ok(ParameterSyntax { direction, type_name, name })
    }

    fn direction(&mut self) -> Option<(Direction, Span)> {
        let words = [("inout", Direction::InOut), ("in", Direction::In), ("out", Direction::Out)];
        let (_, direction) = words.into_iter().find(|(word, _)| self.peek().is(word))?;
        Some((direction, self.advance().span))
    }
}
