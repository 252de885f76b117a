//! The head of a reply: whether the service did what it was asked.

use alloc::string::String;

use crate::{ExceptionCode, ParcelError, Reader, Writer};

/// The word of a reply whose head is longer than it need be.
const HAS_HEADER: i32 = -128;

/// What a service answers before its results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ReplyOutcomeHeader {
    /// Results follow.
    #[default]
    Done,
    /// An exception; nothing follows.
    Exception {
        /// Which.
        code: ExceptionCode,
        /// The service's words.
        message: Option<String>,
        /// The service's own code, if that is the exception; else 0.
        service_specific: i32,
    },
}

impl ReplyOutcomeHeader {
    /// Writes the head.
    ///
    /// # Errors
    ///
    /// [`ParcelError::TooLong`] for the message.
    pub fn write(&self, writer: &mut Writer<'_>) -> Result<(), ParcelError> {
        let Self::Exception { code, message, service_specific } = self else {
            writer.i32(ExceptionCode::NONE.code());
            return Ok(());
        };
        writer.i32(code.code());
        writer.string16(message.as_deref().unwrap_or_default())?;
        // No stack trace.
        writer.i32(0);
        match code {
            ExceptionCode::SERVICE_SPECIFIC => writer.i32(*service_specific),
            // No parcelable.
            ExceptionCode::PARCELABLE => writer.i32(0),
            ExceptionCode::NONE
            | ExceptionCode::SECURITY
            | ExceptionCode::BAD_PARCELABLE
            | ExceptionCode::ILLEGAL_ARGUMENT
            | ExceptionCode::NULL_POINTER
            | ExceptionCode::ILLEGAL_STATE
            | ExceptionCode::NETWORK_MAIN_THREAD
            | ExceptionCode::UNSUPPORTED_OPERATION
            | ExceptionCode::TRANSACTION_FAILED => {}
        }
        Ok(())
    }

    /// Reads the head.
    ///
    /// # Errors
    ///
    /// Those of reading; [`ParcelError::BadLength`] for a block that does not fit.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ParcelError> {
        let code = match reader.i32()? {
            HAS_HEADER => {
                reader.skip_block()?;
                // Java puts such a head only before results.
                return Ok(Self::Done);
            }
            code => ExceptionCode::from_code(code),
        };
        if code == ExceptionCode::NONE {
            return Ok(Self::Done);
        }
        let message = reader.string16()?;
        // A stack trace, for readers of Java's.
        reader.skip_block()?;
        let mut service_specific = 0;
        if code == ExceptionCode::SERVICE_SPECIFIC {
            service_specific = reader.i32()?;
        } else if code == ExceptionCode::PARCELABLE {
            reader.skip_block()?;
        }
        Ok(Self::Exception { code, message, service_specific })
    }
}

impl Reader<'_> {
    /// Steps over a block whose first word is its length, itself included; or 0 for nothing.
    fn skip_block(&mut self) -> Result<(), ParcelError> {
        let at = self.position();
        let left = self.left();
        let length = self.i32()?;
        match usize::try_from(length) {
            Ok(0) => Ok(()),
            Ok(bytes @ 4..) if bytes <= left => {
                self.set_position(at + bytes);
                Ok(())
            }
            Ok(_) | Err(_) => Err(ParcelError::BadLength { at, length: length.into() }),
        }
    }
}
