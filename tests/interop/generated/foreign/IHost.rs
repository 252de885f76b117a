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
  IHost["foreign.IHost"] {
    native: BnHost(on_transact),
    proxy: BpHost {
    },
    async: IHostAsync,
  }
}
pub trait IHost: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.IHost" }
  fn r#greet(&self, _arg_name: &str) -> binder::Result<String>;
  fn r#mirror(&self, _arg_bytes: &[u8]) -> binder::Result<Vec<u8>>;
  fn r#reverse(&self, _arg_numbers: &[i32]) -> binder::Result<Vec<i32>>;
  fn r#shout(&self, _arg_words: &[String]) -> binder::Result<Vec<String>>;
  fn r#callerPid(&self) -> binder::Result<i32>;
  fn r#callerUid(&self) -> binder::Result<i32>;
  fn r#openSession(&self, _arg_name: &str) -> binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>>;
  fn r#recognise(&self, _arg_session: &binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::Result<Option<String>>;
  fn r#giveBack(&self, _arg_object: &binder::SpIBinder) -> binder::Result<binder::SpIBinder>;
  fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32>;
  fn r#tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> binder::Result<()>;
  fn r#admit(&self, _arg_name: &str, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::Result<()>;
  fn r#find(&self, _arg_name: &str) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>>;
  fn r#awaitDeparture(&self, _arg_name: &str) -> binder::Result<()>;
  fn r#refuse(&self, _arg_code: i32, _arg_reason: &str) -> binder::Result<()>;
  fn r#reject(&self, _arg_reason: &str) -> binder::Result<()>;
  fn r#lend(&self, _arg_text: &str) -> binder::Result<binder::ParcelFileDescriptor>;
  fn r#fill(&self, _arg_file: &binder::ParcelFileDescriptor, _arg_text: &str) -> binder::Result<()>;
  fn getDefaultImpl() -> IHostDefaultRef where Self: Sized {
    DEFAULT_IMPL.lock().unwrap().clone()
  }
  fn setDefaultImpl(d: IHostDefaultRef) -> IHostDefaultRef where Self: Sized {
    std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)
  }
}
pub trait IHostAsync<P>: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.IHost" }
  fn r#greet<'a>(&'a self, _arg_name: &'a str) -> binder::BoxFuture<'a, binder::Result<String>>;
  fn r#mirror<'a>(&'a self, _arg_bytes: &'a [u8]) -> binder::BoxFuture<'a, binder::Result<Vec<u8>>>;
  fn r#reverse<'a>(&'a self, _arg_numbers: &'a [i32]) -> binder::BoxFuture<'a, binder::Result<Vec<i32>>>;
  fn r#shout<'a>(&'a self, _arg_words: &'a [String]) -> binder::BoxFuture<'a, binder::Result<Vec<String>>>;
  fn r#callerPid<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<i32>>;
  fn r#callerUid<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<i32>>;
  fn r#openSession<'a>(&'a self, _arg_name: &'a str) -> binder::BoxFuture<'a, binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>>>;
  fn r#recognise<'a>(&'a self, _arg_session: &'a binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::BoxFuture<'a, binder::Result<Option<String>>>;
  fn r#giveBack<'a>(&'a self, _arg_object: &'a binder::SpIBinder) -> binder::BoxFuture<'a, binder::Result<binder::SpIBinder>>;
  fn r#nest<'a>(&'a self, _arg_host: &'a binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &'a binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::BoxFuture<'a, binder::Result<i32>>;
  fn r#tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> std::future::Ready<binder::Result<()>>;
  fn r#admit<'a>(&'a self, _arg_name: &'a str, _arg_visitor: &'a binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#find<'a>(&'a self, _arg_name: &'a str) -> binder::BoxFuture<'a, binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>>>;
  fn r#awaitDeparture<'a>(&'a self, _arg_name: &'a str) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#refuse<'a>(&'a self, _arg_code: i32, _arg_reason: &'a str) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#reject<'a>(&'a self, _arg_reason: &'a str) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#lend<'a>(&'a self, _arg_text: &'a str) -> binder::BoxFuture<'a, binder::Result<binder::ParcelFileDescriptor>>;
  fn r#fill<'a>(&'a self, _arg_file: &'a binder::ParcelFileDescriptor, _arg_text: &'a str) -> binder::BoxFuture<'a, binder::Result<()>>;
}
#[::async_trait::async_trait]
pub trait IHostAsyncServer: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "foreign.IHost" }
  async fn r#greet(&self, _arg_name: &str) -> binder::Result<String>;
  async fn r#mirror(&self, _arg_bytes: &[u8]) -> binder::Result<Vec<u8>>;
  async fn r#reverse(&self, _arg_numbers: &[i32]) -> binder::Result<Vec<i32>>;
  async fn r#shout(&self, _arg_words: &[String]) -> binder::Result<Vec<String>>;
  async fn r#callerPid(&self) -> binder::Result<i32>;
  async fn r#callerUid(&self) -> binder::Result<i32>;
  async fn r#openSession(&self, _arg_name: &str) -> binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>>;
  async fn r#recognise(&self, _arg_session: &binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::Result<Option<String>>;
  async fn r#giveBack(&self, _arg_object: &binder::SpIBinder) -> binder::Result<binder::SpIBinder>;
  async fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32>;
  async fn r#tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> binder::Result<()>;
  async fn r#admit(&self, _arg_name: &str, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::Result<()>;
  async fn r#find(&self, _arg_name: &str) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>>;
  async fn r#awaitDeparture(&self, _arg_name: &str) -> binder::Result<()>;
  async fn r#refuse(&self, _arg_code: i32, _arg_reason: &str) -> binder::Result<()>;
  async fn r#reject(&self, _arg_reason: &str) -> binder::Result<()>;
  async fn r#lend(&self, _arg_text: &str) -> binder::Result<binder::ParcelFileDescriptor>;
  async fn r#fill(&self, _arg_file: &binder::ParcelFileDescriptor, _arg_text: &str) -> binder::Result<()>;
}
impl BnHost {
  /// Create a new async binder service.
  pub fn new_async_binder<T, R>(inner: T, rt: R, features: binder::BinderFeatures) -> binder::Strong<dyn IHost>
  where
    T: IHostAsyncServer + binder::Interface + Send + Sync + 'static,
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
    impl<T, R> IHost for Wrapper<T, R>
    where
      T: IHostAsyncServer + Send + Sync + 'static,
      R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
    {
      fn r#greet(&self, _arg_name: &str) -> binder::Result<String> {
        self._rt.block_on(self._inner.r#greet(_arg_name))
      }
      fn r#mirror(&self, _arg_bytes: &[u8]) -> binder::Result<Vec<u8>> {
        self._rt.block_on(self._inner.r#mirror(_arg_bytes))
      }
      fn r#reverse(&self, _arg_numbers: &[i32]) -> binder::Result<Vec<i32>> {
        self._rt.block_on(self._inner.r#reverse(_arg_numbers))
      }
      fn r#shout(&self, _arg_words: &[String]) -> binder::Result<Vec<String>> {
        self._rt.block_on(self._inner.r#shout(_arg_words))
      }
      fn r#callerPid(&self) -> binder::Result<i32> {
        self._rt.block_on(self._inner.r#callerPid())
      }
      fn r#callerUid(&self) -> binder::Result<i32> {
        self._rt.block_on(self._inner.r#callerUid())
      }
      fn r#openSession(&self, _arg_name: &str) -> binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>> {
        self._rt.block_on(self._inner.r#openSession(_arg_name))
      }
      fn r#recognise(&self, _arg_session: &binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::Result<Option<String>> {
        self._rt.block_on(self._inner.r#recognise(_arg_session))
      }
      fn r#giveBack(&self, _arg_object: &binder::SpIBinder) -> binder::Result<binder::SpIBinder> {
        self._rt.block_on(self._inner.r#giveBack(_arg_object))
      }
      fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32> {
        self._rt.block_on(self._inner.r#nest(_arg_host, _arg_visitor, _arg_depth))
      }
      fn r#tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#tell(_arg_visitor, _arg_count))
      }
      fn r#admit(&self, _arg_name: &str, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#admit(_arg_name, _arg_visitor))
      }
      fn r#find(&self, _arg_name: &str) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>> {
        self._rt.block_on(self._inner.r#find(_arg_name))
      }
      fn r#awaitDeparture(&self, _arg_name: &str) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#awaitDeparture(_arg_name))
      }
      fn r#refuse(&self, _arg_code: i32, _arg_reason: &str) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#refuse(_arg_code, _arg_reason))
      }
      fn r#reject(&self, _arg_reason: &str) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#reject(_arg_reason))
      }
      fn r#lend(&self, _arg_text: &str) -> binder::Result<binder::ParcelFileDescriptor> {
        self._rt.block_on(self._inner.r#lend(_arg_text))
      }
      fn r#fill(&self, _arg_file: &binder::ParcelFileDescriptor, _arg_text: &str) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#fill(_arg_file, _arg_text))
      }
    }
    let wrapped = Wrapper { _inner: inner, _rt: rt };
    Self::new_binder(wrapped, features)
  }
}
pub trait IHostDefault: Send + Sync {
  fn r#greet(&self, _arg_name: &str) -> binder::Result<String> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#mirror(&self, _arg_bytes: &[u8]) -> binder::Result<Vec<u8>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverse(&self, _arg_numbers: &[i32]) -> binder::Result<Vec<i32>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#shout(&self, _arg_words: &[String]) -> binder::Result<Vec<String>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#callerPid(&self) -> binder::Result<i32> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#callerUid(&self) -> binder::Result<i32> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#openSession(&self, _arg_name: &str) -> binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#recognise(&self, _arg_session: &binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::Result<Option<String>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#giveBack(&self, _arg_object: &binder::SpIBinder) -> binder::Result<binder::SpIBinder> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#admit(&self, _arg_name: &str, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#find(&self, _arg_name: &str) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#awaitDeparture(&self, _arg_name: &str) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#refuse(&self, _arg_code: i32, _arg_reason: &str) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reject(&self, _arg_reason: &str) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#lend(&self, _arg_text: &str) -> binder::Result<binder::ParcelFileDescriptor> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#fill(&self, _arg_file: &binder::ParcelFileDescriptor, _arg_text: &str) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
}
pub mod transactions {
  pub const r#greet: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 0;
  pub const r#mirror: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 1;
  pub const r#reverse: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 2;
  pub const r#shout: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 3;
  pub const r#callerPid: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 4;
  pub const r#callerUid: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 5;
  pub const r#openSession: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 6;
  pub const r#recognise: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 7;
  pub const r#giveBack: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 8;
  pub const r#nest: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 9;
  pub const r#tell: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 10;
  pub const r#admit: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 11;
  pub const r#find: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 12;
  pub const r#awaitDeparture: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 13;
  pub const r#refuse: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 14;
  pub const r#reject: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 15;
  pub const r#lend: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 16;
  pub const r#fill: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 17;
}
pub type IHostDefaultRef = Option<std::sync::Arc<dyn IHostDefault>>;
static DEFAULT_IMPL: std::sync::Mutex<IHostDefaultRef> = std::sync::Mutex::new(None);
impl BpHost {
  fn build_parcel_greet(&self, _arg_name: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_name)?;
    Ok(aidl_data)
  }
  fn read_response_greet(&self, _arg_name: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<String> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#greet(_arg_name);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: String = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_mirror(&self, _arg_bytes: &[u8]) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_bytes)?;
    Ok(aidl_data)
  }
  fn read_response_mirror(&self, _arg_bytes: &[u8], _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<u8>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#mirror(_arg_bytes);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<u8> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverse(&self, _arg_numbers: &[i32]) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_numbers)?;
    Ok(aidl_data)
  }
  fn read_response_reverse(&self, _arg_numbers: &[i32], _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<i32>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#reverse(_arg_numbers);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<i32> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_shout(&self, _arg_words: &[String]) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_words)?;
    Ok(aidl_data)
  }
  fn read_response_shout(&self, _arg_words: &[String], _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<String>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#shout(_arg_words);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<String> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_callerPid(&self) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    Ok(aidl_data)
  }
  fn read_response_callerPid(&self, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<i32> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#callerPid();
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i32 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_callerUid(&self) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    Ok(aidl_data)
  }
  fn read_response_callerUid(&self, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<i32> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#callerUid();
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i32 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_openSession(&self, _arg_name: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_name)?;
    Ok(aidl_data)
  }
  fn read_response_openSession(&self, _arg_name: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#openSession(_arg_name);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: binder::Strong<dyn crate::mangled::_7_foreign_8_ISession> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_recognise(&self, _arg_session: &binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_session)?;
    Ok(aidl_data)
  }
  fn read_response_recognise(&self, _arg_session: &binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<String>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#recognise(_arg_session);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<String> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_giveBack(&self, _arg_object: &binder::SpIBinder) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_object)?;
    Ok(aidl_data)
  }
  fn read_response_giveBack(&self, _arg_object: &binder::SpIBinder, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<binder::SpIBinder> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#giveBack(_arg_object);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: binder::SpIBinder = _aidl_reply.read()?;
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
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#nest(_arg_host, _arg_visitor, _arg_depth);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i32 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_visitor)?;
    aidl_data.write(&_arg_count)?;
    Ok(aidl_data)
  }
  fn read_response_tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#tell(_arg_visitor, _arg_count);
      }
    }
    let _aidl_reply = _aidl_reply?;
    Ok(())
  }
  fn build_parcel_admit(&self, _arg_name: &str, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_name)?;
    aidl_data.write(_arg_visitor)?;
    Ok(aidl_data)
  }
  fn read_response_admit(&self, _arg_name: &str, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#admit(_arg_name, _arg_visitor);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    Ok(())
  }
  fn build_parcel_find(&self, _arg_name: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_name)?;
    Ok(aidl_data)
  }
  fn read_response_find(&self, _arg_name: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#find(_arg_name);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_awaitDeparture(&self, _arg_name: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_name)?;
    Ok(aidl_data)
  }
  fn read_response_awaitDeparture(&self, _arg_name: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#awaitDeparture(_arg_name);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    Ok(())
  }
  fn build_parcel_refuse(&self, _arg_code: i32, _arg_reason: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_code)?;
    aidl_data.write(_arg_reason)?;
    Ok(aidl_data)
  }
  fn read_response_refuse(&self, _arg_code: i32, _arg_reason: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#refuse(_arg_code, _arg_reason);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    Ok(())
  }
  fn build_parcel_reject(&self, _arg_reason: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_reason)?;
    Ok(aidl_data)
  }
  fn read_response_reject(&self, _arg_reason: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#reject(_arg_reason);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    Ok(())
  }
  fn build_parcel_lend(&self, _arg_text: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_text)?;
    Ok(aidl_data)
  }
  fn read_response_lend(&self, _arg_text: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<binder::ParcelFileDescriptor> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#lend(_arg_text);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: binder::ParcelFileDescriptor = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_fill(&self, _arg_file: &binder::ParcelFileDescriptor, _arg_text: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_file)?;
    aidl_data.write(_arg_text)?;
    Ok(aidl_data)
  }
  fn read_response_fill(&self, _arg_file: &binder::ParcelFileDescriptor, _arg_text: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IHost>::getDefaultImpl() {
        return _aidl_default_impl.r#fill(_arg_file, _arg_text);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    Ok(())
  }
}
impl IHost for BpHost {
  fn r#greet(&self, _arg_name: &str) -> binder::Result<String> {
    let _aidl_data = self.build_parcel_greet(_arg_name)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#greet, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_greet(_arg_name, _aidl_reply)
  }
  fn r#mirror(&self, _arg_bytes: &[u8]) -> binder::Result<Vec<u8>> {
    let _aidl_data = self.build_parcel_mirror(_arg_bytes)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#mirror, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_mirror(_arg_bytes, _aidl_reply)
  }
  fn r#reverse(&self, _arg_numbers: &[i32]) -> binder::Result<Vec<i32>> {
    let _aidl_data = self.build_parcel_reverse(_arg_numbers)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverse, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverse(_arg_numbers, _aidl_reply)
  }
  fn r#shout(&self, _arg_words: &[String]) -> binder::Result<Vec<String>> {
    let _aidl_data = self.build_parcel_shout(_arg_words)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#shout, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_shout(_arg_words, _aidl_reply)
  }
  fn r#callerPid(&self) -> binder::Result<i32> {
    let _aidl_data = self.build_parcel_callerPid()?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#callerPid, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_callerPid(_aidl_reply)
  }
  fn r#callerUid(&self) -> binder::Result<i32> {
    let _aidl_data = self.build_parcel_callerUid()?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#callerUid, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_callerUid(_aidl_reply)
  }
  fn r#openSession(&self, _arg_name: &str) -> binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>> {
    let _aidl_data = self.build_parcel_openSession(_arg_name)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#openSession, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_openSession(_arg_name, _aidl_reply)
  }
  fn r#recognise(&self, _arg_session: &binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::Result<Option<String>> {
    let _aidl_data = self.build_parcel_recognise(_arg_session)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#recognise, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_recognise(_arg_session, _aidl_reply)
  }
  fn r#giveBack(&self, _arg_object: &binder::SpIBinder) -> binder::Result<binder::SpIBinder> {
    let _aidl_data = self.build_parcel_giveBack(_arg_object)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#giveBack, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_giveBack(_arg_object, _aidl_reply)
  }
  fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32> {
    let _aidl_data = self.build_parcel_nest(_arg_host, _arg_visitor, _arg_depth)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#nest, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_nest(_arg_host, _arg_visitor, _arg_depth, _aidl_reply)
  }
  fn r#tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_tell(_arg_visitor, _arg_count)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#tell, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_tell(_arg_visitor, _arg_count, _aidl_reply)
  }
  fn r#admit(&self, _arg_name: &str, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_admit(_arg_name, _arg_visitor)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#admit, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_admit(_arg_name, _arg_visitor, _aidl_reply)
  }
  fn r#find(&self, _arg_name: &str) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>> {
    let _aidl_data = self.build_parcel_find(_arg_name)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#find, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_find(_arg_name, _aidl_reply)
  }
  fn r#awaitDeparture(&self, _arg_name: &str) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_awaitDeparture(_arg_name)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#awaitDeparture, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_awaitDeparture(_arg_name, _aidl_reply)
  }
  fn r#refuse(&self, _arg_code: i32, _arg_reason: &str) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_refuse(_arg_code, _arg_reason)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#refuse, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_refuse(_arg_code, _arg_reason, _aidl_reply)
  }
  fn r#reject(&self, _arg_reason: &str) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_reject(_arg_reason)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reject, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reject(_arg_reason, _aidl_reply)
  }
  fn r#lend(&self, _arg_text: &str) -> binder::Result<binder::ParcelFileDescriptor> {
    let _aidl_data = self.build_parcel_lend(_arg_text)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#lend, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_lend(_arg_text, _aidl_reply)
  }
  fn r#fill(&self, _arg_file: &binder::ParcelFileDescriptor, _arg_text: &str) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_fill(_arg_file, _arg_text)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#fill, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_fill(_arg_file, _arg_text, _aidl_reply)
  }
}
impl<P: binder::BinderAsyncPool> IHostAsync<P> for BpHost {
  fn r#greet<'a>(&'a self, _arg_name: &'a str) -> binder::BoxFuture<'a, binder::Result<String>> {
    let _aidl_data = match self.build_parcel_greet(_arg_name) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#greet, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_greet(_arg_name, _aidl_reply)
      }
    )
  }
  fn r#mirror<'a>(&'a self, _arg_bytes: &'a [u8]) -> binder::BoxFuture<'a, binder::Result<Vec<u8>>> {
    let _aidl_data = match self.build_parcel_mirror(_arg_bytes) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#mirror, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_mirror(_arg_bytes, _aidl_reply)
      }
    )
  }
  fn r#reverse<'a>(&'a self, _arg_numbers: &'a [i32]) -> binder::BoxFuture<'a, binder::Result<Vec<i32>>> {
    let _aidl_data = match self.build_parcel_reverse(_arg_numbers) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverse, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverse(_arg_numbers, _aidl_reply)
      }
    )
  }
  fn r#shout<'a>(&'a self, _arg_words: &'a [String]) -> binder::BoxFuture<'a, binder::Result<Vec<String>>> {
    let _aidl_data = match self.build_parcel_shout(_arg_words) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#shout, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_shout(_arg_words, _aidl_reply)
      }
    )
  }
  fn r#callerPid<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<i32>> {
    let _aidl_data = match self.build_parcel_callerPid() {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#callerPid, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_callerPid(_aidl_reply)
      }
    )
  }
  fn r#callerUid<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<i32>> {
    let _aidl_data = match self.build_parcel_callerUid() {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#callerUid, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_callerUid(_aidl_reply)
      }
    )
  }
  fn r#openSession<'a>(&'a self, _arg_name: &'a str) -> binder::BoxFuture<'a, binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>>> {
    let _aidl_data = match self.build_parcel_openSession(_arg_name) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#openSession, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_openSession(_arg_name, _aidl_reply)
      }
    )
  }
  fn r#recognise<'a>(&'a self, _arg_session: &'a binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::BoxFuture<'a, binder::Result<Option<String>>> {
    let _aidl_data = match self.build_parcel_recognise(_arg_session) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#recognise, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_recognise(_arg_session, _aidl_reply)
      }
    )
  }
  fn r#giveBack<'a>(&'a self, _arg_object: &'a binder::SpIBinder) -> binder::BoxFuture<'a, binder::Result<binder::SpIBinder>> {
    let _aidl_data = match self.build_parcel_giveBack(_arg_object) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#giveBack, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_giveBack(_arg_object, _aidl_reply)
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
  fn r#tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> std::future::Ready<binder::Result<()>> {
    let _aidl_data = match self.build_parcel_tell(_arg_visitor, _arg_count) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return std::future::ready(Err(err)),
    };
    let _aidl_reply = self.binder.submit_transact(transactions::r#tell, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    std::future::ready(self.read_response_tell(_arg_visitor, _arg_count, _aidl_reply))
  }
  fn r#admit<'a>(&'a self, _arg_name: &'a str, _arg_visitor: &'a binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_admit(_arg_name, _arg_visitor) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#admit, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_admit(_arg_name, _arg_visitor, _aidl_reply)
      }
    )
  }
  fn r#find<'a>(&'a self, _arg_name: &'a str) -> binder::BoxFuture<'a, binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>>> {
    let _aidl_data = match self.build_parcel_find(_arg_name) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#find, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_find(_arg_name, _aidl_reply)
      }
    )
  }
  fn r#awaitDeparture<'a>(&'a self, _arg_name: &'a str) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_awaitDeparture(_arg_name) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#awaitDeparture, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_awaitDeparture(_arg_name, _aidl_reply)
      }
    )
  }
  fn r#refuse<'a>(&'a self, _arg_code: i32, _arg_reason: &'a str) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_refuse(_arg_code, _arg_reason) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#refuse, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_refuse(_arg_code, _arg_reason, _aidl_reply)
      }
    )
  }
  fn r#reject<'a>(&'a self, _arg_reason: &'a str) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_reject(_arg_reason) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reject, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reject(_arg_reason, _aidl_reply)
      }
    )
  }
  fn r#lend<'a>(&'a self, _arg_text: &'a str) -> binder::BoxFuture<'a, binder::Result<binder::ParcelFileDescriptor>> {
    let _aidl_data = match self.build_parcel_lend(_arg_text) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#lend, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_lend(_arg_text, _aidl_reply)
      }
    )
  }
  fn r#fill<'a>(&'a self, _arg_file: &'a binder::ParcelFileDescriptor, _arg_text: &'a str) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_fill(_arg_file, _arg_text) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#fill, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_fill(_arg_file, _arg_text, _aidl_reply)
      }
    )
  }
}
impl IHost for binder::binder_impl::Binder<BnHost> {
  fn r#greet(&self, _arg_name: &str) -> binder::Result<String> { self.0.r#greet(_arg_name) }
  fn r#mirror(&self, _arg_bytes: &[u8]) -> binder::Result<Vec<u8>> { self.0.r#mirror(_arg_bytes) }
  fn r#reverse(&self, _arg_numbers: &[i32]) -> binder::Result<Vec<i32>> { self.0.r#reverse(_arg_numbers) }
  fn r#shout(&self, _arg_words: &[String]) -> binder::Result<Vec<String>> { self.0.r#shout(_arg_words) }
  fn r#callerPid(&self) -> binder::Result<i32> { self.0.r#callerPid() }
  fn r#callerUid(&self) -> binder::Result<i32> { self.0.r#callerUid() }
  fn r#openSession(&self, _arg_name: &str) -> binder::Result<binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>> { self.0.r#openSession(_arg_name) }
  fn r#recognise(&self, _arg_session: &binder::Strong<dyn crate::mangled::_7_foreign_8_ISession>) -> binder::Result<Option<String>> { self.0.r#recognise(_arg_session) }
  fn r#giveBack(&self, _arg_object: &binder::SpIBinder) -> binder::Result<binder::SpIBinder> { self.0.r#giveBack(_arg_object) }
  fn r#nest(&self, _arg_host: &binder::Strong<dyn crate::mangled::_7_foreign_5_IHost>, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_depth: i32) -> binder::Result<i32> { self.0.r#nest(_arg_host, _arg_visitor, _arg_depth) }
  fn r#tell(&self, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>, _arg_count: i32) -> binder::Result<()> { self.0.r#tell(_arg_visitor, _arg_count) }
  fn r#admit(&self, _arg_name: &str, _arg_visitor: &binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>) -> binder::Result<()> { self.0.r#admit(_arg_name, _arg_visitor) }
  fn r#find(&self, _arg_name: &str) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor>>> { self.0.r#find(_arg_name) }
  fn r#awaitDeparture(&self, _arg_name: &str) -> binder::Result<()> { self.0.r#awaitDeparture(_arg_name) }
  fn r#refuse(&self, _arg_code: i32, _arg_reason: &str) -> binder::Result<()> { self.0.r#refuse(_arg_code, _arg_reason) }
  fn r#reject(&self, _arg_reason: &str) -> binder::Result<()> { self.0.r#reject(_arg_reason) }
  fn r#lend(&self, _arg_text: &str) -> binder::Result<binder::ParcelFileDescriptor> { self.0.r#lend(_arg_text) }
  fn r#fill(&self, _arg_file: &binder::ParcelFileDescriptor, _arg_text: &str) -> binder::Result<()> { self.0.r#fill(_arg_file, _arg_text) }
}
fn on_transact(_aidl_service: &dyn IHost, _aidl_code: binder::binder_impl::TransactionCode, _aidl_data: &binder::binder_impl::BorrowedParcel<'_>, _aidl_reply: &mut binder::binder_impl::BorrowedParcel<'_>) -> std::result::Result<(), binder::StatusCode> {
  match _aidl_code {
    transactions::r#greet => {
      let _arg_name: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#greet(&_arg_name);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#mirror => {
      let _arg_bytes: Vec<u8> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#mirror(&_arg_bytes);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverse => {
      let _arg_numbers: Vec<i32> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#reverse(&_arg_numbers);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#shout => {
      let _arg_words: Vec<String> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#shout(&_arg_words);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#callerPid => {
      let _aidl_return = _aidl_service.r#callerPid();
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#callerUid => {
      let _aidl_return = _aidl_service.r#callerUid();
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#openSession => {
      let _arg_name: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#openSession(&_arg_name);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#recognise => {
      let _arg_session: binder::Strong<dyn crate::mangled::_7_foreign_8_ISession> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#recognise(&_arg_session);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#giveBack => {
      let _arg_object: binder::SpIBinder = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#giveBack(&_arg_object);
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
      let _arg_visitor: binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor> = _aidl_data.read()?;
      let _arg_count: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#tell(&_arg_visitor, _arg_count);
      Ok(())
    }
    transactions::r#admit => {
      let _arg_name: String = _aidl_data.read()?;
      let _arg_visitor: binder::Strong<dyn crate::mangled::_7_foreign_8_IVisitor> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#admit(&_arg_name, &_arg_visitor);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#find => {
      let _arg_name: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#find(&_arg_name);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#awaitDeparture => {
      let _arg_name: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#awaitDeparture(&_arg_name);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#refuse => {
      let _arg_code: i32 = _aidl_data.read()?;
      let _arg_reason: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#refuse(_arg_code, &_arg_reason);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reject => {
      let _arg_reason: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#reject(&_arg_reason);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#lend => {
      let _arg_text: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#lend(&_arg_text);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#fill => {
      let _arg_file: binder::ParcelFileDescriptor = _aidl_data.read()?;
      let _arg_text: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#fill(&_arg_file, &_arg_text);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    _ => Err(binder::StatusCode::UNKNOWN_TRANSACTION)
  }
}
pub(crate) mod mangled {
 pub use super::r#IHost as _7_foreign_5_IHost;
}
