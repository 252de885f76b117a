//! Methods.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::Lowering;
use crate::codes::{self, LAST_CODE};
use crate::diagnostic::Diagnostic;
use crate::evaluate::Scope;
use crate::model::{InterfaceMethod, Nullability, Parameter, Type, TypeKind};
use crate::source::Span;
use crate::syntax::{Direction, MethodSyntax, ParameterSyntax};

/// Methods that generated traits have by themselves.
const RESERVED: [&str; 8] = [
    "getInterfaceVersion",
    "getInterfaceHash",
    "getDefaultImpl",
    "setDefaultImpl",
    "get_descriptor",
    "as_binder",
    "dump",
    "asBinder",
];

impl Lowering<'_, '_, '_> {
    pub(super) fn methods(
        &mut self,
        methods: &[MethodSyntax],
        is_oneway: bool,
        scope: Scope,
    ) -> Vec<InterfaceMethod> {
        // Nothing tells methods of one name apart: Rust has none, and their names are those of their codes.
        self.refuse_doubles("methods", methods.iter().map(|it| &it.name));
        let codes = self.codes(methods);
        let mut lowered = Vec::new();
        for (method, code) in methods.iter().zip(codes) {
            let name = &method.name;
            if RESERVED.contains(&name.text.as_str()) {
                self.error(name, format!("every interface has a `{}` of its own", name.text));
            }
            let is_oneway = is_oneway || method.is_oneway;
            let returns = self.type_use(&method.return_type, scope);
            self.refuse_doubles("parameters", method.parameters.iter().map(|it| &it.name));
            let mut parameters = Vec::new();
            for parameter in &method.parameters {
                parameters.extend(self.parameter(parameter, is_oneway, scope));
            }
            let nothing = Type { kind: TypeKind::Void, nullability: Nullability::Never };
            let returns = returns.unwrap_or(nothing);
            if is_oneway && returns.kind != TypeKind::Void {
                let span = method.return_type.span;
                let message = format!("the one-way method `{}` cannot return anything", name.text);
                let error = Diagnostic::error(span, message).label("expected `void`");
                self.diagnostics.push(error.help("the caller does not wait for a reply"));
            }
            lowered.push(InterfaceMethod {
                name: name.text.clone(),
                deprecated: method.deprecated.clone(),
                is_oneway,
                code,
                returns,
                parameters,
            });
        }
        lowered
    }

    /// The number of each method: what it says, or its place.
    pub(crate) fn codes(&mut self, methods: &[MethodSyntax]) -> Vec<u32> {
        let explicit = methods.iter().find_map(|it| it.code.as_ref());
        let implicit = methods.iter().find(|it| it.code.is_none());
        if let (Some(explicit), Some(implicit)) = (explicit, implicit) {
            let message = "either all methods of an interface have a number, or none";
            let error = Diagnostic::error(implicit.name.span, message).label("has none");
            self.diagnostics.push(error.other(explicit.span, "has one"));
        }
        let mut seen: BTreeMap<u32, Span> = BTreeMap::new();
        let mut codes = Vec::new();
        for (at, method) in methods.iter().enumerate() {
            let code = match &method.code {
                None => u32::try_from(at).unwrap_or(LAST_CODE),
                Some(written) => {
                    codes::written_code(written, self.diagnostics).unwrap_or(LAST_CODE)
                }
            };
            if let Some(written) = &method.code {
                if let Some(first) = seen.get(&code) {
                    let message = format!("two methods have the number {code}");
                    let error = Diagnostic::error(written.span, message);
                    self.diagnostics.push(error.label("again here").other(*first, "first here"));
                } else {
                    seen.insert(code, written.span);
                }
            }
            codes.push(code);
        }
        codes
    }

    fn parameter(
        &mut self,
        parameter: &ParameterSyntax,
        is_oneway: bool,
        scope: Scope,
    ) -> Option<Parameter> {
        let of = self.type_use(&parameter.type_name, scope)?;
        let name = &parameter.name;
        let type_span = parameter.type_name.span;
        if of.kind == TypeKind::Void {
            self.diagnostics.push(Diagnostic::error(type_span, "a parameter cannot be `void`"));
        }
        if of.nullability == Nullability::Boxed {
            let message = "only a field can be kept on the heap";
            self.diagnostics.push(Diagnostic::error(type_span, message));
        }
        let goes_in_only = of.kind.is_scalar()
            || matches!(of.kind, TypeKind::Text | TypeKind::Binder | TypeKind::Interface(_));
        let direction = match parameter.direction {
            None if goes_in_only || matches!(of.kind, TypeKind::File | TypeKind::Void) => {
                Direction::In
            }
            None => {
                let message = format!("the direction of `{}` is missing", name.text);
                let error = Diagnostic::error(type_span, message);
                self.diagnostics.push(error.help("put `in`, `out` or `inout` before it"));
                Direction::In
            }
            Some((direction @ (Direction::Out | Direction::InOut), span)) => {
                self.check_way_out(&of, direction, span, is_oneway);
                direction
            }
            Some((Direction::In, _)) => Direction::In,
        };
        Some(Parameter { name: name.text.clone(), direction, of })
    }

    /// Complains of what cannot come back.
    fn check_way_out(&mut self, of: &Type, direction: Direction, span: Span, is_oneway: bool) {
        let message = match (&of.kind, direction) {
            _ if is_oneway => "nothing comes back from a one-way method",
            (TypeKind::Enumeration(_), _) => "an enumeration can only be `in`",
            (TypeKind::Text, _) => "a `String` can only be `in`",
            (TypeKind::Binder | TypeKind::Interface(_), _) => "an object can only be `in`",
            (TypeKind::File, Direction::Out) => "a file to be filled in cannot be made up",
            (kind, _) if kind.is_scalar() => "a primitive type can only be `in`",
            _ => return,
        };
        self.diagnostics.push(Diagnostic::error(span, message).help("return it instead"));
    }
}
