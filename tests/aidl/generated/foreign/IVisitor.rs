/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#![allow(non_upper_case_globals)]
#![allow(non_snake_case)]
#[allow(unused_imports)] use binder::binder_impl::IBinderInternal;
use binder::declare_binder_interface;
declare_binder_interface! {
  IVisitor["foreign.IVisitor"] {
    native: BnVisitor(on_transact),
    proxy: BpVisitor {
    },
    async: IVisitorAsync,
  }
}
pub trait IVisitor: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.IVisitor" }
  fn r#name(&self) -> binder::Result<String>;
  fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32>;
  fn r#tell(&self, _arg_number: i32) -> binder::Result<()>;
  fn getDefaultImpl() -> IVisitorDefaultRef where Self: Sized {
    DEFAULT_IMPL.lock().unwrap().clone()
  }
  fn setDefaultImpl(d: IVisitorDefaultRef) -> IVisitorDefaultRef where Self: Sized {
    std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)
  }
}
pub trait IVisitorAsync<P>: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.IVisitor" }
  fn r#name<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<String>>;
  fn r#nest<'a>(&'a self, _arg_host: &'a binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &'a binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::BoxFuture<'a, binder::Result<i32>>;
  fn r#tell(&self, _arg_number: i32) -> std::future::Ready<binder::Result<()>>;
}
#[::async_trait::async_trait]
pub trait IVisitorAsyncServer: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.IVisitor" }
  async fn r#name(&self) -> binder::Result<String>;
  async fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32>;
  async fn r#tell(&self, _arg_number: i32) -> binder::Result<()>;
}
impl BnVisitor {
  /// Create a new async binder service.
  pub fn new_async_binder<T, R>(inner: T, rt: R, features: binder::BinderFeatures) -> binder::Strong<dyn IVisitor>
  where
    T: IVisitorAsyncServer + binder::Interface + Send + Sync + 'static,
    R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
  {
    struct Wrapper<T, R> {
      _inner: T,
      _rt: R,
    }
    impl<T, R> binder::Interface for Wrapper<T, R> where T: binder::Interface, R: Send + Sync + 'static {
      fn as_binder(&self) -> binder::SpIBinder { self._inner.as_binder() }
      fn dump(&self, _writer: &mut dyn std::io::Write, _args: &[&std::ffi::CStr]) -> std::result::Result<(), binder::StatusCode> { self._inner.dump(_writer, _args) }
    }
    impl<T, R> IVisitor for Wrapper<T, R>
    where
      T: IVisitorAsyncServer + Send + Sync + 'static,
      R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
    {
      fn r#name(&self) -> binder::Result<String> {
        self._rt.block_on(self._inner.r#name())
      }
      fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32> {
        self._rt.block_on(self._inner.r#nest(_arg_host, _arg_visitor, _arg_depth))
      }
      fn r#tell(&self, _arg_number: i32) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#tell(_arg_number))
      }
    }
    let wrapped = Wrapper { _inner: inner, _rt: rt };
    Self::new_binder(wrapped, features)
  }
}
pub trait IVisitorDefault: Send + Sync {
  fn r#name(&self) -> binder::Result<String> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#tell(&self, _arg_number: i32) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
}
pub mod transactions {
  pub const r#name: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 0;
  pub const r#nest: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 1;
  pub const r#tell: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 2;
}
pub type IVisitorDefaultRef = Option<std::sync::Arc<dyn IVisitorDefault>>;
static DEFAULT_IMPL: std::sync::Mutex<IVisitorDefaultRef> = std::sync::Mutex::new(None);
impl BpVisitor {
  fn build_parcel_name(&self) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    Ok(aidl_data)
  }
  fn read_response_name(&self, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<String> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IVisitor>::getDefaultImpl() {
        return _aidl_default_impl.r#name();
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: String = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_host)?;
    aidl_data.write(_arg_visitor)?;
    aidl_data.write(&_arg_depth)?;
    Ok(aidl_data)
  }
  fn read_response_nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<i32> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IVisitor>::getDefaultImpl() {
        return _aidl_default_impl.r#nest(_arg_host, _arg_visitor, _arg_depth);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i32 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_tell(&self, _arg_number: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_number)?;
    Ok(aidl_data)
  }
  fn read_response_tell(&self, _arg_number: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IVisitor>::getDefaultImpl() {
        return _aidl_default_impl.r#tell(_arg_number);
      }
    }
    let _aidl_reply = _aidl_reply?;
    Ok(())
  }
}
impl IVisitor for BpVisitor {
  fn r#name(&self) -> binder::Result<String> {
    let _aidl_data = self.build_parcel_name()?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#name, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_name(_aidl_reply)
  }
  fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32> {
    let _aidl_data = self.build_parcel_nest(_arg_host, _arg_visitor, _arg_depth)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#nest, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_nest(_arg_host, _arg_visitor, _arg_depth, _aidl_reply)
  }
  fn r#tell(&self, _arg_number: i32) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_tell(_arg_number)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#tell, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_tell(_arg_number, _aidl_reply)
  }
}
impl<P: binder::BinderAsyncPool> IVisitorAsync<P> for BpVisitor {
  fn r#name<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<String>> {
    let _aidl_data = match self.build_parcel_name() {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#name, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_name(_aidl_reply)
      }
    )
  }
  fn r#nest<'a>(&'a self, _arg_host: &'a binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &'a binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::BoxFuture<'a, binder::Result<i32>> {
    let _aidl_data = match self.build_parcel_nest(_arg_host, _arg_visitor, _arg_depth) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#nest, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_nest(_arg_host, _arg_visitor, _arg_depth, _aidl_reply)
      }
    )
  }
  fn r#tell(&self, _arg_number: i32) -> std::future::Ready<binder::Result<()>> {
    let _aidl_data = match self.build_parcel_tell(_arg_number) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return std::future::ready(Err(err)),
    };
    let _aidl_reply = self.binder.submit_transact(transactions::r#tell, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    std::future::ready(self.read_response_tell(_arg_number, _aidl_reply))
  }
}
impl IVisitor for binder::binder_impl::Binder<BnVisitor> {
  fn r#name(&self) -> binder::Result<String> { self.0.r#name() }
  fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32> { self.0.r#nest(_arg_host, _arg_visitor, _arg_depth) }
  fn r#tell(&self, _arg_number: i32) -> binder::Result<()> { self.0.r#tell(_arg_number) }
}
fn on_transact(_aidl_service: &dyn IVisitor, _aidl_code: binder::binder_impl::TransactionCode, _aidl_data: &binder::binder_impl::BorrowedParcel<'_>, _aidl_reply: &mut binder::binder_impl::BorrowedParcel<'_>) -> std::result::Result<(), binder::StatusCode> {
  match _aidl_code {
    transactions::r#name => {
      let _aidl_return = _aidl_service.r#name();
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#nest => {
      let _arg_host: binder::Strong<dyn crate::mangled::_7_foreign_5_IHost> = _aidl_data.read()?;
      let _arg_visitor: binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor> = _aidl_data.read()?;
      let _arg_depth: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#nest(&_arg_host, &_arg_visitor, _arg_depth);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#tell => {
      let _arg_number: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#tell(_arg_number);
      Ok(())
    }
    _ => Err(binder::StatusCode::UNKNOWN_TRANSACTION)
  }
}
pub(crate) mod mangled {
 pub use super::r#IVisitor as _7_foreign_8_IVisitor;
}
