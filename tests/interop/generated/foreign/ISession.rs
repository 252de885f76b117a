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
  ISession["foreign.ISession"] {
    native: BnSession(on_transact),
    proxy: BpSession {
    },
    async: ISessionAsync,
  }
}
pub trait ISession: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.ISession" }
  fn r#name(&self) -> binder::Result<String>;
  fn r#post(&self, _arg_number: i32) -> binder::Result<()>;
  fn r#awaitPosted(&self, _arg_count: i32) -> binder::Result<Vec<i32>>;
  fn getDefaultImpl() -> ISessionDefaultRef where Self: Sized {
    DEFAULT_IMPL.lock().unwrap().clone()
  }
  fn setDefaultImpl(d: ISessionDefaultRef) -> ISessionDefaultRef where Self: Sized {
    std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)
  }
}
pub trait ISessionAsync<P>: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.ISession" }
  fn r#name<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<String>>;
  fn r#post(&self, _arg_number: i32) -> std::future::Ready<binder::Result<()>>;
  fn r#awaitPosted<'a>(&'a self, _arg_count: i32) -> binder::BoxFuture<'a, binder::Result<Vec<i32>>>;
}
#[::async_trait::async_trait]
pub trait ISessionAsyncServer: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.ISession" }
  async fn r#name(&self) -> binder::Result<String>;
  async fn r#post(&self, _arg_number: i32) -> binder::Result<()>;
  async fn r#awaitPosted(&self, _arg_count: i32) -> binder::Result<Vec<i32>>;
}
impl BnSession {
  /// Create a new async binder service.
  pub fn new_async_binder<T, R>(inner: T, rt: R, features: binder::BinderFeatures) -> binder::Strong<dyn ISession>
  where
    T: ISessionAsyncServer + binder::Interface + Send + Sync + 'static,
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
    impl<T, R> ISession for Wrapper<T, R>
    where
      T: ISessionAsyncServer + Send + Sync + 'static,
      R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
    {
      fn r#name(&self) -> binder::Result<String> {
        self._rt.block_on(self._inner.r#name())
      }
      fn r#post(&self, _arg_number: i32) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#post(_arg_number))
      }
      fn r#awaitPosted(&self, _arg_count: i32) -> binder::Result<Vec<i32>> {
        self._rt.block_on(self._inner.r#awaitPosted(_arg_count))
      }
    }
    let wrapped = Wrapper { _inner: inner, _rt: rt };
    Self::new_binder(wrapped, features)
  }
}
pub trait ISessionDefault: Send + Sync {
  fn r#name(&self) -> binder::Result<String> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#post(&self, _arg_number: i32) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#awaitPosted(&self, _arg_count: i32) -> binder::Result<Vec<i32>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
}
pub mod transactions {
  pub const r#name: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 0;
  pub const r#post: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 1;
  pub const r#awaitPosted: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 2;
}
pub type ISessionDefaultRef = Option<std::sync::Arc<dyn ISessionDefault>>;
static DEFAULT_IMPL: std::sync::Mutex<ISessionDefaultRef> = std::sync::Mutex::new(None);
impl BpSession {
  fn build_parcel_name(&self) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    Ok(aidl_data)
  }
  fn read_response_name(&self, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<String> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ISession>::getDefaultImpl() {
        return _aidl_default_impl.r#name();
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: String = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_post(&self, _arg_number: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_number)?;
    Ok(aidl_data)
  }
  fn read_response_post(&self, _arg_number: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ISession>::getDefaultImpl() {
        return _aidl_default_impl.r#post(_arg_number);
      }
    }
    let _aidl_reply = _aidl_reply?;
    Ok(())
  }
  fn build_parcel_awaitPosted(&self, _arg_count: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_count)?;
    Ok(aidl_data)
  }
  fn read_response_awaitPosted(&self, _arg_count: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<i32>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ISession>::getDefaultImpl() {
        return _aidl_default_impl.r#awaitPosted(_arg_count);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<i32> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
}
impl ISession for BpSession {
  fn r#name(&self) -> binder::Result<String> {
    let _aidl_data = self.build_parcel_name()?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#name, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_name(_aidl_reply)
  }
  fn r#post(&self, _arg_number: i32) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_post(_arg_number)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#post, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_post(_arg_number, _aidl_reply)
  }
  fn r#awaitPosted(&self, _arg_count: i32) -> binder::Result<Vec<i32>> {
    let _aidl_data = self.build_parcel_awaitPosted(_arg_count)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#awaitPosted, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_awaitPosted(_arg_count, _aidl_reply)
  }
}
impl<P: binder::BinderAsyncPool> ISessionAsync<P> for BpSession {
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
  fn r#post(&self, _arg_number: i32) -> std::future::Ready<binder::Result<()>> {
    let _aidl_data = match self.build_parcel_post(_arg_number) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return std::future::ready(Err(err)),
    };
    let _aidl_reply = self.binder.submit_transact(transactions::r#post, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    std::future::ready(self.read_response_post(_arg_number, _aidl_reply))
  }
  fn r#awaitPosted<'a>(&'a self, _arg_count: i32) -> binder::BoxFuture<'a, binder::Result<Vec<i32>>> {
    let _aidl_data = match self.build_parcel_awaitPosted(_arg_count) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#awaitPosted, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_awaitPosted(_arg_count, _aidl_reply)
      }
    )
  }
}
impl ISession for binder::binder_impl::Binder<BnSession> {
  fn r#name(&self) -> binder::Result<String> { self.0.r#name() }
  fn r#post(&self, _arg_number: i32) -> binder::Result<()> { self.0.r#post(_arg_number) }
  fn r#awaitPosted(&self, _arg_count: i32) -> binder::Result<Vec<i32>> { self.0.r#awaitPosted(_arg_count) }
}
fn on_transact(_aidl_service: &dyn ISession, _aidl_code: binder::binder_impl::TransactionCode, _aidl_data: &binder::binder_impl::BorrowedParcel<'_>, _aidl_reply: &mut binder::binder_impl::BorrowedParcel<'_>) -> std::result::Result<(), binder::StatusCode> {
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
    transactions::r#post => {
      let _arg_number: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#post(_arg_number);
      Ok(())
    }
    transactions::r#awaitPosted => {
      let _arg_count: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#awaitPosted(_arg_count);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    _ => Err(binder::StatusCode::UNKNOWN_TRANSACTION)
  }
}
pub(crate) mod mangled {
 pub use super::r#ISession as _7_foreign_8_ISession;
}
