//! Certificates for tests.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use binder::transport::rpc::TlsCredentials;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, IsCa, Issuer,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};

/// An authority that issues certificates.
pub struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes one that no store trusts yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// Issues a certificate for a name, to a holder who trusts `trusted`.
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

    /// Issues a certificate with these URIs, to a holder who trusts `trusted`; its number comes along.
    #[must_use]
    pub fn issue_with(&self, uris: &[&str], trusted: &Self) -> (SerialNumber, TlsCredentials) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let serial = SerialNumber::from(u64::from(std::process::id()) << 8 | 5);
        params.serial_number = Some(serial.clone());
        let uri = |uri: &&str| SanType::URI((*uri).try_into().unwrap());
        params.subject_alt_names = uris.iter().map(uri).collect();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (chain, trusted) = (certificate.pem(), trusted.certificate.pem());
        let key = key.serialize_pem();
        let credentials =
            TlsCredentials::from_pem(chain.as_bytes(), key.as_bytes(), trusted.as_bytes());
        (serial, credentials.unwrap())
    }

    /// Makes a list (PEM) on which that certificate is revoked.
    #[must_use]
    pub fn revoke(&self, serial: &SerialNumber) -> String {
        let (then, later) = (date_time_ymd(2020, 1, 1), date_time_ymd(2120, 1, 1));
        let revoked = RevokedCertParams {
            serial_number: serial.clone(),
            revocation_time: then,
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: then,
            next_update: later,
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).unwrap().pem().unwrap()
    }
}
