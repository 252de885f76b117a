//! Certificates for tests.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use binder::transport::rpc::TlsCredentials;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

/// Who issues certificates.
pub struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes one that nobody trusts yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// Issues a certificate for a name, to somebody who trusts `trusted`.
    #[must_use]
    pub fn issue(&self, name: &str, trusted: &Self, is_expired: bool) -> TlsCredentials {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if is_expired {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (chain, trusted) = (certificate.pem(), trusted.certificate.pem());
        let key = key.serialize_pem();
        TlsCredentials::from_pem(chain.as_bytes(), key.as_bytes(), trusted.as_bytes()).unwrap()
    }
}
