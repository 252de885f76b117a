//! Interfaces: their traits, and what a service does with a transaction.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::parcelable::OUTCOME;
use super::text::RustText;
use super::{names, values, write_constants};
use crate::codes::{HASH_CODE, VERSION_CODE};
use crate::lower::AidlOptions;
use crate::model::{InterfaceMethod, Item, Parameter, TypeKind};
use crate::syntax::Direction;

/// An interface that is being written.
pub(super) struct Writing<'a> {
    pub(super) item: &'a Item,
    pub(super) options: &'a AidlOptions,
    pub(super) is_sensitive: bool,
    pub(super) methods: &'a [InterfaceMethod],
}

impl Writing<'_> {
    pub(super) fn write(&self, text: &mut RustText) {
        text.lines(&[
            "#![allow(non_upper_case_globals)]",
            "#![allow(non_snake_case)]",
            "#[allow(unused_imports)] use binder::binder_impl::IBinderInternal;",
            "use binder::declare_binder_interface;",
        ]);
        self.write_declaration(text);
        self.write_trait(text);
        self.write_async_trait(text);
        self.write_async_server_trait(text);
        self.write_async_server(text);
        self.write_default_trait(text);
        self.write_codes(text);
        let name = self.name();
        text.line(&format!(
            "pub type {name}DefaultRef = Option<std::sync::Arc<dyn {name}Default>>;"
        ));
        let lock = "std::sync::Mutex";
        text.line(&format!("static DEFAULT_IMPL: {lock}<{name}DefaultRef> = {lock}::new(None);"));
        write_constants(text, &self.item.constants);
        if let Some(version) = self.options.version {
            text.line(&format!("pub const VERSION: i32 = {version};"));
        }
        if let Some(hash) = &self.options.hash {
            text.line(&format!("pub const HASH: &str = {hash:?};"));
        }
        self.write_proxy(text);
        self.write_native(text);
        self.write_on_transact(text);
    }

    pub(super) fn name(&self) -> &str {
        &self.item.name
    }

    /// The name without the `I` before it.
    fn base(&self) -> &str {
        let rest = self.name().strip_prefix('I');
        rest.filter(|it| it.starts_with(|it: char| it.is_ascii_uppercase())).unwrap_or(self.name())
    }

    pub(super) fn native(&self) -> String {
        format!("Bn{}", self.base())
    }

    pub(super) fn proxy(&self) -> String {
        format!("Bp{}", self.base())
    }

    pub(super) fn has_version(&self) -> bool {
        self.options.version.is_some()
    }

    pub(super) fn has_hash(&self) -> bool {
        self.options.hash.is_some()
    }

    fn write_declaration(&self, text: &mut RustText) {
        let name = self.name();
        text.open("declare_binder_interface! {");
        text.open(&format!("{name}[{:?}] {{", self.item.descriptor));
        text.line(&format!("native: {}(on_transact),", self.native()));
        text.open(&format!("proxy: {} {{", self.proxy()));
        if self.has_version() {
            let of = "std::sync::atomic::AtomicI32";
            let comma = if self.has_hash() { "," } else { "" };
            text.line(&format!("cached_version: {of} = {of}::new(-1){comma}"));
        }
        if self.has_hash() {
            let lock = "std::sync::Mutex";
            text.line(&format!("cached_hash: {lock}<Option<String>> = {lock}::new(None)"));
        }
        text.close("},");
        text.line(&format!("async: {name}Async,"));
        if self.item.is_vintf {
            text.line("stability: binder::binder_impl::Stability::Vintf,");
        }
        text.close("}");
        text.close("}");
    }

    fn write_descriptor(&self, text: &mut RustText) {
        let descriptor = &self.item.descriptor;
        text.line(&format!(
            "fn get_descriptor() -> &'static str where Self: Sized {{ {descriptor:?} }}"
        ));
    }

    fn write_trait(&self, text: &mut RustText) {
        let name = self.name();
        text.deprecated(self.item.deprecated.as_deref());
        text.open(&format!("pub trait {name}: binder::Interface + Send {{"));
        self.write_descriptor(text);
        for method in self.methods {
            text.deprecated(method.deprecated.as_deref());
            text.line(&format!("{};", signature(method)));
        }
        if self.has_version() {
            text.open("fn r#getInterfaceVersion(&self) -> binder::Result<i32> {");
            text.line("Ok(VERSION)");
            text.close("}");
        }
        if self.has_hash() {
            text.open("fn r#getInterfaceHash(&self) -> binder::Result<String> {");
            text.line("Ok(HASH.into())");
            text.close("}");
        }
        text.open(&format!("fn getDefaultImpl() -> {name}DefaultRef where Self: Sized {{"));
        text.line("DEFAULT_IMPL.lock().unwrap().clone()");
        text.close("}");
        text.open(&format!(
            "fn setDefaultImpl(d: {name}DefaultRef) -> {name}DefaultRef where Self: Sized {{"
        ));
        text.line("std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)");
        text.close("}");
        text.close("}");
    }

    fn write_async_trait(&self, text: &mut RustText) {
        text.deprecated(self.item.deprecated.as_deref());
        text.open(&format!("pub trait {}Async<P>: binder::Interface + Send {{", self.name()));
        self.write_descriptor(text);
        for method in self.methods {
            text.deprecated(method.deprecated.as_deref());
            text.line(&format!("{};", async_signature(method)));
        }
        let meta = [
            (self.has_version(), "Version", "i32", "Ok(VERSION)"),
            (self.has_hash(), "Hash", "String", "Ok(HASH.into())"),
        ];
        for (_, what, of, value) in meta.into_iter().filter(|(is_there, ..)| *is_there) {
            text.open(&format!("{} {{", meta_async_signature(what, of)));
            text.line(&format!("Box::pin(async move {{ {value} }})"));
            text.close("}");
        }
        text.close("}");
    }

    fn write_async_server_trait(&self, text: &mut RustText) {
        text.deprecated(self.item.deprecated.as_deref());
        text.line("#[::async_trait::async_trait]");
        text.open(&format!("pub trait {}AsyncServer: binder::Interface + Send {{", self.name()));
        self.write_descriptor(text);
        for method in self.methods {
            text.deprecated(method.deprecated.as_deref());
            text.line(&format!("async {};", signature(method)));
        }
        text.close("}");
    }

    fn write_async_server(&self, text: &mut RustText) {
        let name = self.name();
        let bounds = [
            format!("T: {name}AsyncServer + binder::Interface + Send + Sync + 'static,"),
            "R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,".into(),
        ];
        text.open(&format!("impl {} {{", self.native()));
        text.line("/// Create a new async binder service.");
        let arguments = "inner: T, rt: R, features: binder::BinderFeatures";
        text.line(&format!(
            "pub fn new_async_binder<T, R>({arguments}) -> binder::Strong<dyn {name}>"
        ));
        text.open("where");
        text.lines(&[&bounds[0], &bounds[1]]);
        text.reopen("{");
        text.open("struct Wrapper<T, R> {");
        text.lines(&["_inner: T,", "_rt: R,"]);
        text.close("}");
        let wrapper = "Wrapper<T, R> where T: binder::Interface, R: Send + Sync + 'static";
        text.open(&format!("impl<T, R> binder::Interface for {wrapper} {{"));
        text.line("fn as_binder(&self) -> binder::SpIBinder { self._inner.as_binder() }");
        let arguments = "_writer: &mut dyn std::io::Write, _args: &[&std::ffi::CStr]";
        text.line(&format!(
            "fn dump(&self, {arguments}) -> {OUTCOME} {{ self._inner.dump(_writer, _args) }}"
        ));
        text.close("}");
        text.line(&format!("impl<T, R> {name} for Wrapper<T, R>"));
        text.open("where");
        text.line(&format!("T: {name}AsyncServer + Send + Sync + 'static,"));
        text.line(&bounds[1]);
        text.reopen("{");
        for method in self.methods {
            text.open(&format!("{} {{", signature(method)));
            let call = format!("self._inner.r#{}({})", method.name, arguments_of(method));
            text.line(&format!("self._rt.block_on({call})"));
            text.close("}");
        }
        text.close("}");
        text.line("let wrapped = Wrapper { _inner: inner, _rt: rt };");
        text.line("Self::new_binder(wrapped, features)");
        text.close("}");
        text.close("}");
    }

    fn write_default_trait(&self, text: &mut RustText) {
        text.open(&format!("pub trait {}Default: Send + Sync {{", self.name()));
        for method in self.methods {
            text.open(&format!("{} {{", signature(method)));
            text.line("Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())");
            text.close("}");
        }
        text.close("}");
    }

    fn write_codes(&self, text: &mut RustText) {
        text.open("pub mod transactions {");
        let own = self.methods.iter().map(|it| (it.name.as_str(), it.code));
        let version = self.has_version().then_some(("getInterfaceVersion", VERSION_CODE));
        let hash = self.has_hash().then_some(("getInterfaceHash", HASH_CODE));
        for (name, code) in own.chain(version).chain(hash) {
            let of = "binder::binder_impl::TransactionCode";
            let first = "binder::binder_impl::FIRST_CALL_TRANSACTION";
            text.line(&format!("pub const r#{name}: {of} = {first} + {code};"));
        }
        text.close("}");
    }

    fn write_native(&self, text: &mut RustText) {
        let (name, native) = (self.name(), self.native());
        text.open(&format!("impl {name} for binder::binder_impl::Binder<{native}> {{"));
        for method in self.methods {
            let call = format!("self.0.r#{}({})", method.name, arguments_of(method));
            text.line(&format!("{} {{ {call} }}", signature(method)));
        }
        let meta = [(self.has_version(), "Version", "i32"), (self.has_hash(), "Hash", "String")];
        for (_, what, of) in meta.into_iter().filter(|(is_there, ..)| *is_there) {
            let method = format!("r#getInterface{what}");
            text.line(&format!(
                "fn {method}(&self) -> binder::Result<{of}> {{ self.0.{method}() }}"
            ));
        }
        text.close("}");
    }

    fn write_on_transact(&self, text: &mut RustText) {
        let parcel = "binder::binder_impl::BorrowedParcel<'_>";
        let code = "binder::binder_impl::TransactionCode";
        text.open(&format!(
            "fn on_transact(_aidl_service: &dyn {}, _aidl_code: {code}, _aidl_data: &{parcel}, \
             _aidl_reply: &mut {parcel}) -> {OUTCOME} {{",
            self.name()
        ));
        text.open("match _aidl_code {");
        for method in self.methods {
            write_arm(text, method);
        }
        let meta = [(self.has_version(), "Version"), (self.has_hash(), "Hash")];
        for (_, what) in meta.into_iter().filter(|(is_there, _)| *is_there) {
            text.open(&format!("transactions::r#getInterface{what} => {{"));
            text.line(&format!("let _aidl_return = _aidl_service.r#getInterface{what}();"));
            write_reply(text, &["_aidl_reply.write(_aidl_return)?;".into()]);
            text.line("Ok(())");
            text.close("}");
        }
        text.line("_ => Err(binder::StatusCode::UNKNOWN_TRANSACTION)");
        text.close("}");
        text.close("}");
    }
}

/// Writes what a service does with a transaction of one method.
fn write_arm(text: &mut RustText, method: &InterfaceMethod) {
    let name = &method.name;
    text.open(&format!("transactions::r#{name} => {{"));
    for parameter in &method.parameters {
        let variable = format!("_arg_{}", parameter.name);
        let of = names::local(parameter);
        match parameter.direction {
            Direction::In => text.line(&format!("let {variable}: {of} = _aidl_data.read()?;")),
            Direction::InOut => {
                text.line(&format!("let mut {variable}: {of} = _aidl_data.read()?;"));
            }
            Direction::Out => {
                let value = values::default_of(&parameter.of);
                text.line(&format!("let mut {variable}: {of} = {value};"));
                if matches!(parameter.of.kind, TypeKind::Vector(_)) {
                    let which = if parameter.of.is_nullable() { "nullable_out" } else { "out" };
                    text.line(&format!("_aidl_data.resize_{which}_vec(&mut {variable})?;"));
                }
            }
        }
    }
    let arguments: Vec<String> = method.parameters.iter().map(passed_on).collect();
    text.line(&format!("let _aidl_return = _aidl_service.r#{name}({});", arguments.join(", ")));
    if !method.is_oneway {
        let mut reply = Vec::new();
        if method.returns.kind != TypeKind::Void {
            reply.push("_aidl_reply.write(_aidl_return)?;".into());
        }
        for parameter in method.parameters.iter().filter(|it| it.direction != Direction::In) {
            reply.extend(missing(parameter));
            reply.push(format!("_aidl_reply.write(&_arg_{})?;", parameter.name));
        }
        write_reply(text, &reply);
    }
    text.line("Ok(())");
    text.close("}");
}

/// Refuses an array that the service has left without an element.
fn missing(parameter: &Parameter) -> Option<String> {
    let (TypeKind::Vector(element) | TypeKind::List(element)) = &parameter.of.kind else {
        return None;
    };
    let may_be_missing = parameter.direction == Direction::Out && element.has_no_default();
    (may_be_missing && !parameter.of.is_nullable()).then(|| {
        let refusal = "return Err(binder::StatusCode::UNEXPECTED_NULL);";
        format!("if _arg_{}.iter().any(Option::is_none) {{ {refusal} }}", parameter.name)
    })
}

fn write_reply(text: &mut RustText, lines: &[String]) {
    text.open("match &_aidl_return {");
    text.open("Ok(_aidl_return) => {");
    text.line("_aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;");
    lines.iter().for_each(|line| text.line(line));
    text.close("}");
    text.line("Err(_aidl_status) => _aidl_reply.write(_aidl_status)?");
    text.close("}");
}

/// A local variable as an argument of the service's method.
fn passed_on(parameter: &Parameter) -> String {
    let (variable, of) = (format!("_arg_{}", parameter.name), &parameter.of);
    match (parameter.direction, &of.kind) {
        (Direction::Out | Direction::InOut, _) => format!("&mut {variable}"),
        (Direction::In, kind) if kind.is_scalar() => variable,
        (Direction::In, TypeKind::Text | TypeKind::Vector(_) | TypeKind::List(_))
            if of.is_nullable() =>
        {
            format!("{variable}.as_deref()")
        }
        (Direction::In, _) if of.is_nullable() => format!("{variable}.as_ref()"),
        (Direction::In, _) => format!("&{variable}"),
    }
}

/// All parameters with their types, behind a receiver.
pub(super) fn parameters(method: &InterfaceMethod, lifetime: &str) -> String {
    let parameters = method.parameters.iter();
    let with_type =
        |it: &Parameter| format!(", _arg_{}: {}", it.name, names::parameter(it, lifetime));
    parameters.map(with_type).collect()
}

/// All parameters, as arguments of another call.
pub(super) fn arguments_of(method: &InterfaceMethod) -> String {
    let names: Vec<String> =
        method.parameters.iter().map(|it| format!("_arg_{}", it.name)).collect();
    names.join(", ")
}

pub(super) fn signature(method: &InterfaceMethod) -> String {
    let returns = names::owned(&method.returns);
    format!("fn r#{}(&self{}) -> binder::Result<{returns}>", method.name, parameters(method, ""))
}

pub(super) fn async_signature(method: &InterfaceMethod) -> String {
    let (name, returns) = (&method.name, names::owned(&method.returns));
    if method.is_oneway {
        let parameters = parameters(method, "");
        return format!("fn r#{name}(&self{parameters}) -> std::future::Ready<binder::Result<()>>");
    }
    let parameters = parameters(method, "'a ");
    format!(
        "fn r#{name}<'a>(&'a self{parameters}) -> binder::BoxFuture<'a, binder::Result<{returns}>>"
    )
}

pub(super) fn meta_async_signature(what: &str, of: &str) -> String {
    format!("fn r#getInterface{what}<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<{of}>>")
}
