//! How a call names the interface that it means.

use alloc::string::String;

use crate::{ParcelError, Reader, Writer};

/// The word before the descriptor in a call over the driver: the partition that the caller was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum BuilderWord {
    /// `SYST`: Android's system image, and all programs that want to talk to it.
    #[default]
    System = u32::from_be_bytes(*b"SYST"),
    /// `VNDR`: the vendor's image.
    Vendor = u32::from_be_bytes(*b"VNDR"),
    /// `UNKN`: builds of Android's library for other systems, since Android 14.
    Unknown = u32::from_be_bytes(*b"UNKN"),
}

/// The thread's strict mode policy: none, but violations are to be gathered.
const STRICT_MODE: u32 = 1 << 31;
/// No user to bill the work to.
const NO_WORK_SOURCE: i32 = -1;

/// What stands before a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceToken {
    /// The interface's name.
    pub descriptor: String,
    /// The partition that the caller was built for; over RPC this is not sent.
    pub header: Option<BuilderWord>,
}

/// Which words stand before the descriptor in a call over the driver: they grew over the years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenForm {
    /// The strict mode policy alone: Android 9 and before.
    Policy,
    /// The policy and the work source: Android 10.
    PolicyAndWorkSource,
    /// Both, and a [`BuilderWord`]: since Android 11. It is what this crate writes.
    Full,
}

/// Writes the token of a call over the driver.
///
/// # Errors
///
/// [`ParcelError::TooLong`].
pub fn write_driver(
    writer: &mut Writer<'_>,
    header: BuilderWord,
    descriptor: &str,
) -> Result<(), ParcelError> {
    writer.u32(STRICT_MODE);
    writer.i32(NO_WORK_SOURCE);
    writer.u32(header as u32);
    writer.string16(descriptor)
}

/// Reads the token of a call over the driver; any of the three headers will do.
///
/// # Errors
///
/// Those of reading, and [`ParcelError::BadWord`] for another header.
pub fn read_driver(reader: &mut Reader<'_>) -> Result<InterfaceToken, ParcelError> {
    let header = Some(read_header(reader)?);
    Ok(InterfaceToken { header, ..read_rpc(reader)? })
}

/// Reads the token of a call over the driver, and says whether it names `descriptor`.
///
/// # Errors
///
/// As [`read_driver`].
pub fn is_driver(reader: &mut Reader<'_>, descriptor: &str) -> Result<bool, ParcelError> {
    read_header(reader)?;
    reader.string16_is(descriptor)
}

/// Reads the token of a call over the driver in any of its forms; `None`, and nothing is read, if none of them
/// names `descriptor` here.
#[must_use]
pub fn form_of(reader: &mut Reader<'_>, descriptor: &str) -> Option<TokenForm> {
    let forms = [
        (TokenForm::Full, None),
        (TokenForm::PolicyAndWorkSource, Some(2)),
        (TokenForm::Policy, Some(1)),
    ];
    forms.into_iter().find_map(|(form, words)| {
        let mut ahead = reader.clone();
        let is_it = match words {
            None => is_driver(&mut ahead, descriptor),
            Some(words) => (0..words)
                .try_for_each(|_| ahead.i32().map(drop))
                .and_then(|()| ahead.string16_is(descriptor)),
        };
        (is_it == Ok(true)).then(|| {
            *reader = ahead;
            form
        })
    })
}

fn read_header(reader: &mut Reader<'_>) -> Result<BuilderWord, ParcelError> {
    let _strict_mode = reader.u32()?;
    let _work_source = reader.i32()?;
    let at = reader.position();
    let found = reader.u32()?;
    let known = [BuilderWord::System, BuilderWord::Vendor, BuilderWord::Unknown];
    let header = known.into_iter().find(|header| *header as u32 == found);
    header.ok_or(ParcelError::BadWord { at, found })
}

/// Writes the token of a call over RPC: the descriptor alone.
///
/// # Errors
///
/// [`ParcelError::TooLong`].
pub fn write_rpc(writer: &mut Writer<'_>, descriptor: &str) -> Result<(), ParcelError> {
    writer.string16(descriptor)
}

/// Reads the token of a call over RPC.
///
/// # Errors
///
/// Those of reading.
pub fn read_rpc(reader: &mut Reader<'_>) -> Result<InterfaceToken, ParcelError> {
    let at = reader.position();
    let descriptor = reader.string16()?.ok_or(ParcelError::UnexpectedNull { at })?;
    Ok(InterfaceToken { descriptor, header: None })
}

/// Reads the token of a call over RPC, and says whether it names `descriptor`.
///
/// # Errors
///
/// As [`read_rpc`].
pub fn is_rpc(reader: &mut Reader<'_>, descriptor: &str) -> Result<bool, ParcelError> {
    reader.string16_is(descriptor)
}
