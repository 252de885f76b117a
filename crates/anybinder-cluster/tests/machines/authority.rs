//! Who issues the certificates of machines.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, IsCa, Issuer,
    KeyIdMethod, KeyPair, PKCS_ED25519, RevokedCertParams, SanType, SerialNumber, SigningKey as _,
    date_time_ymd,
};

/// An issuer that all machines of a test believe.
pub(crate) struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// Writes what a machine of that name, at this host, needs into a directory: `cert.pem`, `key.pem` and `ca.pem`.
    pub(crate) fn write(&self, machine: &str, host: &str, dir: &Path) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let id = format!("spiffe://test/{machine}");
        params.subject_alt_names.push(SanType::URI(id.try_into().unwrap()));
        params.serial_number = Some(serial(machine));
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(dir.join("cert.pem"), certificate.pem()).unwrap();
        fs::write(dir.join("key.pem"), key.serialize_pem()).unwrap();
        fs::write(dir.join("ca.pem"), self.certificate.pem()).unwrap();
    }

    /// Writes a list of what was written for machines of these names and is not believed any more.
    pub(crate) fn revoke(&self, machines: &[&str], list: &Path) {
        let (then, later) = (date_time_ymd(2020, 1, 1), date_time_ymd(2120, 1, 1));
        let revoked = |machine: &&str| RevokedCertParams {
            serial_number: serial(machine),
            revocation_time: then,
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: then,
            next_update: later,
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs: machines.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        fs::write(list, params.signed_by(&self.issuer).unwrap().pem().unwrap()).unwrap();
    }
}

/// Who signs the table of users.
pub(crate) struct UserSigner(KeyPair);

impl UserSigner {
    pub(crate) fn new() -> Self {
        Self(KeyPair::generate_for(&PKCS_ED25519).unwrap())
    }

    /// Writes a table into a directory, `users`, `users.sig` and `users.pub`; returns the options of who reads it.
    pub(crate) fn write(&self, table: &str, dir: &Path) -> Vec<OsString> {
        let (users, key) = (dir.join("users"), dir.join("users.pub"));
        fs::write(&users, table).unwrap();
        fs::write(dir.join("users.sig"), self.0.sign(table.as_bytes()).unwrap()).unwrap();
        fs::write(&key, self.0.public_key_pem()).unwrap();
        vec!["--users".into(), users.into(), "--users-key".into(), key.into()]
    }
}

/// What a machine's certificate is called on a list.
fn serial(machine: &str) -> SerialNumber {
    // The first bit would be a sign.
    SerialNumber::from_slice(&[&[1], machine.as_bytes()].concat())
}
