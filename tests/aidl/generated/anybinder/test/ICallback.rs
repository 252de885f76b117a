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
  ICallback["anybinder.test.ICallback"] {
    native: BnCallback(on_transact),
    proxy: BpCallback {
    },
    async: ICallbackAsync,
  }
}
pub trait ICallback: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ICallback" }
  fn r#ask(&self, _arg_question: i32) -> binder::Result<i32>;
  fn r#notice(&self, _arg_number: i32) -> binder::Result<()>;
  fn getDefaultImpl() -> ICallbackDefaultRef where Self: Sized {
    DEFAULT_IMPL.lock().unwrap().clone()
  }
  fn setDefaultImpl(d: ICallbackDefaultRef) -> ICallbackDefaultRef where Self: Sized {
    std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)
  }
}
pub trait ICallbackAsync<P>: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ICallback" }
  fn r#ask<'a>(&'a self, _arg_question: i32) -> binder::BoxFuture<'a, binder::Result<i32>>;
  fn r#notice(&self, _arg_number: i32) -> std::future::Ready<binder::Result<()>>;
}
#[::async_trait::async_trait]
pub trait ICallbackAsyncServer: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ICallback" }
  async fn r#ask(&self, _arg_question: i32) -> binder::Result<i32>;
  async fn r#notice(&self, _arg_number: i32) -> binder::Result<()>;
}
impl BnCallback {
  /// Create a new async binder service.
  pub fn new_async_binder<T, R>(inner: T, rt: R, features: binder::BinderFeatures) -> binder::Strong<dyn ICallback>
  where
    T: ICallbackAsyncServer + binder::Interface + Send + Sync + 'static,
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
    impl<T, R> ICallback for Wrapper<T, R>
    where
      T: ICallbackAsyncServer + Send + Sync + 'static,
      R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
    {
      fn r#ask(&self, _arg_question: i32) -> binder::Result<i32> {
        self._rt.block_on(self._inner.r#ask(_arg_question))
      }
      fn r#notice(&self, _arg_number: i32) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#notice(_arg_number))
      }
    }
    let wrapped = Wrapper { _inner: inner, _rt: rt };
    Self::new_binder(wrapped, features)
  }
}
pub trait ICallbackDefault: Send + Sync {
  fn r#ask(&self, _arg_question: i32) -> binder::Result<i32> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#notice(&self, _arg_number: i32) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
}
pub mod transactions {
  pub const r#ask: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 0;
  pub const r#notice: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 1;
}
pub type ICallbackDefaultRef = Option<std::sync::Arc<dyn ICallbackDefault>>;
static DEFAULT_IMPL: std::sync::Mutex<ICallbackDefaultRef> = std::sync::Mutex::new(None);
impl BpCallback {
  fn build_parcel_ask(&self, _arg_question: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_question)?;
    Ok(aidl_data)
  }
  fn read_response_ask(&self, _arg_question: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<i32> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ICallback>::getDefaultImpl() {
        return _aidl_default_impl.r#ask(_arg_question);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i32 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_notice(&self, _arg_number: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_number)?;
    Ok(aidl_data)
  }
  fn read_response_notice(&self, _arg_number: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ICallback>::getDefaultImpl() {
        return _aidl_default_impl.r#notice(_arg_number);
      }
    }
    let _aidl_reply = _aidl_reply?;
    Ok(())
  }
}
impl ICallback for BpCallback {
  fn r#ask(&self, _arg_question: i32) -> binder::Result<i32> {
    let _aidl_data = self.build_parcel_ask(_arg_question)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#ask, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_ask(_arg_question, _aidl_reply)
  }
  fn r#notice(&self, _arg_number: i32) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_notice(_arg_number)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#notice, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_notice(_arg_number, _aidl_reply)
  }
}
impl<P: binder::BinderAsyncPool> ICallbackAsync<P> for BpCallback {
  fn r#ask<'a>(&'a self, _arg_question: i32) -> binder::BoxFuture<'a, binder::Result<i32>> {
    let _aidl_data = match self.build_parcel_ask(_arg_question) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#ask, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_ask(_arg_question, _aidl_reply)
      }
    )
  }
  fn r#notice(&self, _arg_number: i32) -> std::future::Ready<binder::Result<()>> {
    let _aidl_data = match self.build_parcel_notice(_arg_number) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return std::future::ready(Err(err)),
    };
    let _aidl_reply = self.binder.submit_transact(transactions::r#notice, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    std::future::ready(self.read_response_notice(_arg_number, _aidl_reply))
  }
}
impl ICallback for binder::binder_impl::Binder<BnCallback> {
  fn r#ask(&self, _arg_question: i32) -> binder::Result<i32> { self.0.r#ask(_arg_question) }
  fn r#notice(&self, _arg_number: i32) -> binder::Result<()> { self.0.r#notice(_arg_number) }
}
fn on_transact(_aidl_service: &dyn ICallback, _aidl_code: binder::binder_impl::TransactionCode, _aidl_data: &binder::binder_impl::BorrowedParcel<'_>, _aidl_reply: &mut binder::binder_impl::BorrowedParcel<'_>) -> std::result::Result<(), binder::StatusCode> {
  match _aidl_code {
    transactions::r#ask => {
      let _arg_question: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#ask(_arg_question);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#notice => {
      let _arg_number: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#notice(_arg_number);
      Ok(())
    }
    _ => Err(binder::StatusCode::UNKNOWN_TRANSACTION)
  }
}
pub(crate) mod mangled {
 pub use super::r#ICallback as _9_anybinder_4_test_9_ICallback;
}
