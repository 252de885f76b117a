//! Proxies: what a client does for a call.

use alloc::format;
use alloc::string::{String, ToString};

use super::interface::{
    Writing, arguments_of, async_signature, meta_async_signature, parameters, signature,
};
use super::names;
use super::text::RustText;
use crate::model::{InterfaceMethod, Parameter, TypeKind};
use crate::syntax::Direction;

const PARCEL: &str = "binder::binder_impl::Parcel";
const RELAXED: &str = "std::sync::atomic::Ordering::Relaxed";

/// A method that versioned interfaces have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meta {
    Version,
    Hash,
}

impl Meta {
    fn name(self) -> &'static str {
        match self {
            Self::Version => "Version",
            Self::Hash => "Hash",
        }
    }

    fn returns(self) -> &'static str {
        match self {
            Self::Version => "i32",
            Self::Hash => "String",
        }
    }

    /// Writes the return of an answer that is known from an earlier call.
    fn write_cached(self, text: &mut RustText, returned: fn(&str) -> String) {
        match self {
            Self::Version => {
                text.line(&format!("let _aidl_version = self.cached_version.load({RELAXED});"));
                let value = returned("Ok(_aidl_version)");
                text.line(&format!("if _aidl_version != -1 {{ return {value}; }}"));
            }
            Self::Hash => {
                text.open("{");
                text.line("let _aidl_hash_lock = self.cached_hash.lock().unwrap();");
                text.open("if let Some(ref _aidl_hash) = *_aidl_hash_lock {");
                text.line(&format!("return {};", returned("Ok(_aidl_hash.clone())")));
                text.close("}");
                text.close("}");
            }
        }
    }
}

impl Writing<'_> {
    fn meta(&self) -> impl Iterator<Item = Meta> {
        let version = self.has_version().then_some(Meta::Version);
        version.into_iter().chain(self.has_hash().then_some(Meta::Hash))
    }

    pub(super) fn write_proxy(&self, text: &mut RustText) {
        let (name, proxy) = (self.name(), self.proxy());
        text.open(&format!("impl {proxy} {{"));
        for method in self.methods {
            self.write_build(text, method);
            self.write_read(text, method);
        }
        for meta in self.meta() {
            self.write_meta_parts(text, meta);
        }
        text.close("}");

        text.open(&format!("impl {name} for {proxy} {{"));
        for method in self.methods {
            let method_name = &method.name;
            text.open(&format!("{} {{", signature(method)));
            let arguments = arguments_of(method);
            text.line(&format!("let _aidl_data = self.build_parcel_{method_name}({arguments})?;"));
            text.line(&format!("let _aidl_reply = {};", self.submit("self.", method)));
            text.line(&response(method));
            text.close("}");
        }
        for meta in self.meta() {
            let (what, of) = (meta.name(), meta.returns());
            text.open(&format!("fn r#getInterface{what}(&self) -> binder::Result<{of}> {{"));
            meta.write_cached(text, str::to_string);
            text.line(&format!("let _aidl_data = self.build_parcel_getInterface{what}()?;"));
            text.line(&format!("let _aidl_reply = {};", submit_meta("self.", meta)));
            text.line(&format!("self.read_response_getInterface{what}(_aidl_reply)"));
            text.close("}");
        }
        text.close("}");
        self.write_async_proxy(text);
    }

    fn write_async_proxy(&self, text: &mut RustText) {
        let (name, proxy) = (self.name(), self.proxy());
        text.open(&format!("impl<P: binder::BinderAsyncPool> {name}Async<P> for {proxy} {{"));
        for method in self.methods {
            text.open(&format!("{} {{", async_signature(method)));
            let failed = |value: &str| format!("std::future::ready({value})");
            let build = format!("self.build_parcel_{}({})", method.name, arguments_of(method));
            if method.is_oneway {
                write_built(text, &build, &failed("Err(err)"));
                text.line(&format!("let _aidl_reply = {};", self.submit("self.", method)));
                text.line(&failed(&response(method)));
            } else {
                write_built(text, &build, &format!("Box::pin({})", failed("Err(err)")));
                write_spawn(text, &self.submit("", method), &response(method));
            }
            text.close("}");
        }
        for meta in self.meta() {
            let what = meta.name();
            text.open(&format!("{} {{", meta_async_signature(what, meta.returns())));
            meta.write_cached(text, |value| format!("Box::pin(std::future::ready({value}))"));
            let build = format!("self.build_parcel_getInterface{what}()");
            write_built(text, &build, "Box::pin(std::future::ready(Err(err)))");
            let read = format!("self.read_response_getInterface{what}(_aidl_reply)");
            write_spawn(text, &submit_meta("", meta), &read);
            text.close("}");
        }
        text.close("}");
    }

    /// Writes the method that puts the arguments into a parcel.
    fn write_build(&self, text: &mut RustText, method: &InterfaceMethod) {
        let (name, parameters) = (&method.name, parameters(method, ""));
        text.open(&format!(
            "fn build_parcel_{name}(&self{parameters}) -> binder::Result<{PARCEL}> {{"
        ));
        text.line("let mut aidl_data = self.binder.prepare_transact()?;");
        if self.is_sensitive {
            text.line("aidl_data.mark_sensitive();");
        }
        for parameter in &method.parameters {
            if let Some(write) = written(parameter) {
                text.line(&format!("aidl_data.{write}?;"));
            }
        }
        text.line("Ok(aidl_data)");
        text.close("}");
    }

    /// Writes the method that takes the results out of the answer.
    fn write_read(&self, text: &mut RustText, method: &InterfaceMethod) {
        let (name, parameters) = (&method.name, parameters(method, ""));
        let returns = names::owned(&method.returns);
        let reply = format!("_aidl_reply: std::result::Result<{PARCEL}, binder::StatusCode>");
        text.open(&format!(
            "fn read_response_{name}(&self{parameters}, {reply}) -> binder::Result<{returns}> {{"
        ));
        text.open("if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {");
        let default = format!("<Self as {}>::getDefaultImpl()", self.name());
        text.open(&format!("if let Some(_aidl_default_impl) = {default} {{"));
        text.line(&format!("return _aidl_default_impl.r#{name}({});", arguments_of(method)));
        text.close("}");
        text.close("}");
        text.line("let _aidl_reply = _aidl_reply?;");
        if method.is_oneway {
            text.line("Ok(())");
            text.close("}");
            return;
        }
        write_status(text);
        let has_value = method.returns.kind != TypeKind::Void;
        if has_value {
            text.line(&format!("let _aidl_return: {returns} = _aidl_reply.read()?;"));
        }
        for parameter in method.parameters.iter().filter(|it| it.direction != Direction::In) {
            text.line(&format!("_aidl_reply.read_onto(_arg_{})?;", parameter.name));
        }
        text.line(if has_value { "Ok(_aidl_return)" } else { "Ok(())" });
        text.close("}");
    }

    fn write_meta_parts(&self, text: &mut RustText, meta: Meta) {
        let (what, of) = (meta.name(), meta.returns());
        text.open(&format!(
            "fn build_parcel_getInterface{what}(&self) -> binder::Result<{PARCEL}> {{"
        ));
        text.line("let mut aidl_data = self.binder.prepare_transact()?;");
        if self.is_sensitive {
            text.line("aidl_data.mark_sensitive();");
        }
        text.line("Ok(aidl_data)");
        text.close("}");
        let reply = format!("_aidl_reply: std::result::Result<{PARCEL}, binder::StatusCode>");
        text.open(&format!(
            "fn read_response_getInterface{what}(&self, {reply}) -> binder::Result<{of}> {{"
        ));
        text.line("let _aidl_reply = _aidl_reply?;");
        write_status(text);
        text.line(&format!("let _aidl_return: {of} = _aidl_reply.read()?;"));
        text.line(&match meta {
            Meta::Version => format!("self.cached_version.store(_aidl_return, {RELAXED});"),
            Meta::Hash => {
                "*self.cached_hash.lock().unwrap() = Some(_aidl_return.clone());".to_string()
            }
        });
        text.line("Ok(_aidl_return)");
        text.close("}");
    }

    /// The call of the transaction itself.
    fn submit(&self, receiver: &str, method: &InterfaceMethod) -> String {
        let oneway = if method.is_oneway { "binder::binder_impl::FLAG_ONEWAY | " } else { "" };
        let clear = if self.is_sensitive { "binder::binder_impl::FLAG_CLEAR_BUF | " } else { "" };
        let flags = format!("{oneway}{clear}binder::binder_impl::FLAG_PRIVATE_LOCAL");
        let code = format!("transactions::r#{}", method.name);
        format!("{receiver}binder.submit_transact({code}, _aidl_data, {flags})")
    }
}

fn submit_meta(receiver: &str, meta: Meta) -> String {
    let code = format!("transactions::r#getInterface{}", meta.name());
    let flags = "binder::binder_impl::FLAG_PRIVATE_LOCAL";
    format!("{receiver}binder.submit_transact({code}, _aidl_data, {flags})")
}

fn write_status(text: &mut RustText) {
    text.line("let _aidl_status: binder::Status = _aidl_reply.read()?;");
    text.line("if !_aidl_status.is_ok() { return Err(_aidl_status); }");
}

fn response(method: &InterfaceMethod) -> String {
    let arguments: String =
        method.parameters.iter().map(|it| format!("_arg_{}, ", it.name)).collect();
    format!("self.read_response_{}({arguments}_aidl_reply)", method.name)
}

fn write_built(text: &mut RustText, build: &str, failed: &str) {
    text.open(&format!("let _aidl_data = match {build} {{"));
    text.line("Ok(_aidl_data) => _aidl_data,");
    text.line(&format!("Err(err) => return {failed},"));
    text.close("};");
}

fn write_spawn(text: &mut RustText, submit: &str, response: &str) {
    text.line("let binder = self.binder.clone();");
    text.open("P::spawn(");
    text.line(&format!("move || {submit},"));
    text.open("move |_aidl_reply| async move {");
    text.line(response);
    text.close("}");
    text.close(")");
}

/// How an argument is put into the parcel, if it is.
fn written(parameter: &Parameter) -> Option<String> {
    let (variable, of) = (format!("_arg_{}", parameter.name), &parameter.of);
    match parameter.direction {
        Direction::In if of.kind.is_scalar() || of.is_nullable() => {
            Some(format!("write(&{variable})"))
        }
        Direction::In | Direction::InOut => Some(format!("write({variable})")),
        Direction::Out => match (&of.kind, of.is_nullable()) {
            // The service learns how many elements of an array are wanted; a list has as many as it adds.
            (TypeKind::Vector(_), false) => Some(format!("write_slice_size(Some({variable}))")),
            (TypeKind::Vector(_), true) => Some(format!("write_slice_size({variable}.as_deref())")),
            _ => None,
        },
    }
}
