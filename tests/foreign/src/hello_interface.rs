// What the AIDL compiler makes of the `IHello` of `docs/libbinder.md`, as far as the example needs it.
#[allow(missing_docs, reason = "as what is generated")]
pub mod aidl {
    pub mod com {
        pub mod example {
            #[allow(non_snake_case, reason = "as the compiler names it")]
            pub mod IHello {
                use binder::binder_impl::{
                    Binder, BorrowedParcel, FIRST_CALL_TRANSACTION, IBinderInternal as _,
                    TransactionCode,
                };
                use binder::{Interface, Status, StatusCode};

                pub trait IHello: Interface + Send {
                    fn greet(&self, name: &str) -> binder::Result<String>;
                }

                binder::declare_binder_interface! {
                    IHello["com.example.IHello"] { native: BnHello(on_transact), proxy: BpHello {} }
                }

                fn on_transact(
                    service: &dyn IHello,
                    code: TransactionCode,
                    data: &BorrowedParcel<'_>,
                    reply: &mut BorrowedParcel<'_>,
                ) -> Result<(), StatusCode> {
                    if code != FIRST_CALL_TRANSACTION {
                        return Err(StatusCode::UNKNOWN_TRANSACTION);
                    }
                    let greeting = service.greet(&data.read::<String>()?);
                    reply.write(&greeting.as_ref().err().cloned().unwrap_or(Status::ok()))?;
                    greeting.map_or(Ok(()), |greeting| reply.write(&greeting))
                }

                impl IHello for Binder<BnHello> {
                    fn greet(&self, name: &str) -> binder::Result<String> {
                        self.0.greet(name)
                    }
                }

                impl IHello for BpHello {
                    fn greet(&self, name: &str) -> binder::Result<String> {
                        let call = |data: &mut BorrowedParcel<'_>| data.write(name);
                        let reply = self.binder.transact(FIRST_CALL_TRANSACTION, 0, call)?;
                        let status: Status = reply.read()?;
                        if status.is_ok() { Ok(reply.read()?) } else { Err(status) }
                    }
                }
            }
        }
    }
}
