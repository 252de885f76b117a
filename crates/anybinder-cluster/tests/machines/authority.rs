//! Who issues the certificates of machines.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};

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

    /// Writes what a machine of that name needs into a directory: `cert.pem`, `key.pem` and `ca.pem`.
    pub(crate) fn write(&self, machine: &str, dir: &Path) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let id = format!("spiffe://test/{machine}");
        params.subject_alt_names.push(SanType::URI(id.try_into().unwrap()));
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(dir.join("cert.pem"), certificate.pem()).unwrap();
        fs::write(dir.join("key.pem"), key.serialize_pem()).unwrap();
        fs::write(dir.join("ca.pem"), self.certificate.pem()).unwrap();
    }
}
