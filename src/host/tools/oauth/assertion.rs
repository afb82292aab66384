//! The signed assertion of a client without a secret: a JSON Web Token (RFC 7523 §3) for one authorization server and one
//! minute.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::fault::OAuthFault;

/// Lifetime of the token, in seconds.
const LIFETIME_S: u64 = 60;
/// Bytes of each number of a signature by P-256.
const P256_BYTES: usize = 32;

/// The signature schemes and their names (RFC 7518 §3.1, RFC 8037).
const ALGORITHMS: [(SignatureScheme, &str); 3] = [
    (SignatureScheme::ECDSA_NISTP256_SHA256, "ES256"),
    (SignatureScheme::ED25519, "EdDSA"),
    (SignatureScheme::RSA_PKCS1_SHA256, "RS256"),
];

/// The token of a client for an authorization server. `key` is a private key in PEM.
pub(super) fn sign(
    key: &str,
    client: &str,
    issuer: &str,
    now_unix_s: u64,
) -> Result<String, OAuthFault> {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| OAuthFault::Key("it is no private key in PEM"))?;
    let key = any_supported_type(&key).map_err(|_| OAuthFault::Key("its kind is not known"))?;
    let unfit = || OAuthFault::Key("it is neither P-256, Ed25519 nor RSA");
    let found = ALGORITHMS
        .iter()
        .find_map(|(scheme, name)| Some((key.choose_scheme(&[*scheme])?, *scheme, *name)));
    let (signer, scheme, algorithm) = found.ok_or_else(unfit)?;
    let claims = json!({
        "aud": issuer,
        "exp": now_unix_s.saturating_add(LIFETIME_S),
        "iat": now_unix_s,
        "iss": client,
        "jti": random_text()?,
        "sub": client,
    });
    let header = json!({"alg": algorithm, "typ": "JWT"});
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(&header), part(&claims));
    let failed = |_| OAuthFault::Key("it does not sign");
    let mut signature = signer.sign(message.as_bytes()).map_err(failed)?;
    if scheme == SignatureScheme::ECDSA_NISTP256_SHA256 {
        signature = plain(&signature).ok_or_else(unfit)?;
    }
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The two numbers of a signature side by side, of fixed length, as RFC 7518 §3.4 wants them; they come as a sequence in DER.
fn plain(der: &[u8]) -> Option<Vec<u8>> {
    let (numbers, rest) = element(der, 0x30)?;
    let (r, numbers) = element(numbers, 0x02)?;
    let (s, numbers) = element(numbers, 0x02)?;
    if !(rest.is_empty() && numbers.is_empty()) {
        return None;
    }
    let mut out = Vec::with_capacity(2 * P256_BYTES);
    for number in [r, s] {
        let start = number.iter().position(|byte| *byte != 0);
        let number = number.get(start.unwrap_or(number.len())..)?;
        let zeros = P256_BYTES.checked_sub(number.len())?;
        out.extend(std::iter::repeat_n(0, zeros));
        out.extend_from_slice(number);
    }
    Some(out)
}

/// The content of an element of DER with that tag and a length of one byte, and what is behind it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[first, length], rest) = der.split_first_chunk::<2>()?;
    let length = usize::from(length);
    (first == tag && length < 0x80).then(|| rest.split_at_checked(length))?
}

/// 256 random bits as 43 characters.
pub(super) fn random_text() -> Result<String, OAuthFault> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| OAuthFault::Randomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier by the method `S256`.
pub(super) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_signature_have_fixed_length() {
        let mut der = vec![0x30, 0x26, 0x02, 0x21, 0x00];
        der.extend([0x80; 32]);
        der.extend([0x02, 0x01, 0x07]);
        let mut expect = vec![0x80; 32];
        expect.extend([0; 31]);
        expect.push(7);
        assert_eq!(plain(&der), Some(expect));
        for cut in 0..der.len() {
            assert_eq!(plain(&der[..cut]), None, "{cut}");
        }
        assert_eq!(plain(&[&der[..], &[0]].concat()), None);
    }

    /// A key of this test alone.
    const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgu8w+iPbdwB2cFql5
3VABT+3yNmlWFU91NXNklSHycuChRANCAARyKxFam9i9lNCJV3cE38TVNpe7WGSn
3yyoidQNlXajkZVBdK73TSOobaDydNm4uYrKBNiutjHOlucyX6bEv1Yo
-----END PRIVATE KEY-----
";

    #[test]
    fn a_token_names_the_client_and_is_for_one_server_and_one_minute() {
        let token = sign(KEY, "robot", "https://a", 1_000).unwrap();
        let parts: Vec<Vec<u8>> = token
            .split('.')
            .map(|part| URL_SAFE_NO_PAD.decode(part).unwrap())
            .collect();
        let [header, claims, signature] = parts.try_into().unwrap();
        assert_eq!(header, br#"{"alg":"ES256","typ":"JWT"}"#);
        let mut claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        let id = claims["jti"].take();
        assert_eq!(id.as_str().unwrap().len(), 43);
        let expect = json!({"aud": "https://a", "exp": 1_060, "iat": 1_000, "iss": "robot", "jti": null, "sub": "robot"});
        assert_eq!(claims, expect);
        assert_eq!(signature.len(), 64);
    }

    /// Keys of this test alone: Ed25519, and RSA of 2,048 bits.
    const ED25519: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJKago2P74s5PVFAZbrCalYnVXECMhmcjU9oaltt3YgQ
-----END PRIVATE KEY-----
";
    const RSA: &str = "-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDbNAaphBBqEus6
UCnVMO6bB49bDkTnHDf+7mXzFj+7tmnCtseZPQK0+5sIfB4Ni5rYFmF6+qSyIdkv
cREQ3feaUFhj6X1dljky2EhwS3E6FzmEWANAv7SUNQHiG/MuVetrN/MeBrEOAlal
dK/c+vYZhO1VZ7vGMRn40QoMm/uzsqLHR9xWv+7/qvWhhHRtpg3kQaTYVek5vf93
XQ7QC5Ah/+L4UHi2TZLWWs0D8/PD5bDJVC2e5H4kF2sSnkKW9MBkaKDBOaVVVwnr
Vq9CvbCmxRnPGvUSEo29VqfzwVZfo0WKDes5gMS6twqgjUXoSF6NQ+lUZgZ5O4gn
nuNO7wcZAgMBAAECggEAIUj3oAL5ORoxVNP6XjCFcs4FkyaKCOvshs3tdimROPA8
hAAcM+UjRZcVFgc+ywDBXQGdAL8RhikEoSMSm9SQtgJwQY+hZTYb7mAQM9kI0vDW
34U7zTeu9HhOFmb3GLicPFYtGQicFwv82zfqQmxrNTnNjhPn2/L1xiX72ClRYZo9
AjI1KTLx3BlKi8sPmO6t4Sc95Hq43jgAqrlvElnPhqwmt7GSa5d8fS0JjTXkZJyL
Qagd31dGs+jmvvdboDuS9X4THl0XogPpsHQU/yTjYjEu967e/5AKCh2wV7hJsoBg
VHdumlAi9wF0LArM/zUXQZLMyu8YaBCu0iOVylyyeQKBgQD3U6kzxmKPaXoolczt
2+ENnafUUW5eHSdLn5+NVHG0RO5Y2Tv450EsB1h6qy4GFzV7e5Q9l8bog6nbBaZo
XSVaQPfNnDDVudsyCr/D+bdO0xi1PtqKR7L4xU1RvpI4KN11BsX/9ZDco0AB2qYS
v/19GXB3CcoULX6jMX9ZIxi8NQKBgQDi4+PSuq3j8IGjJpwAwyDUmXUKMjp75aGM
ZpzuPWOBbbbc0VHMZmpVYDzQXbNt/VZKaygLhAtHujBLj9caOglaGPhJ3bUDO/Qj
zrDjt2MbOSFSFWuG9fnTMW93Es/6I/C3AsDWI5hOf4/0/aY+aWmY08PZCwHvuCB6
Vju8YyiT1QKBgC0Azxf5sDNyOOUrpNdfHAtTNZefnZqIaX8MM4cO54WqyUfnd08q
HSS6zXG8tiorjPLEIMw4Utw6IO0WkRoKYOKUUcLa+dPZ9rWbWRt6080HAkbwgemJ
dFpp5FDMgWSwouNJcTvK3ioXlmz/8RoWTzS1LU6rvFaBlLpzJj388eJFAoGALsrp
FXDCpBvZ4Jf53H5hqvbrGGs7fInjQ112R/wJJYxHBkt1Hz6P94OdhyuL8ccpoLdw
zs8wtF5Fz4+ewR3vB9HWgwVia4RV2XyrJouPuPGTWaZpQrBAEbpETr5mfiQjZNsA
gildI/NS8SfOvVhoGsixv3VxtMq4iAJ412Vr3PECgYEA7kbc+lTX1umfEcY8/DPe
98Sm9msSsLleNej0yibXdkv74h2hJOMc0KarQL2jmD2tJr18xKTpSKg74BHotahy
0a6ar8dF9m9ZCOTQqTEm7CVFPWz7fp0daPWuZzngJusmoYGE5LjoaFGqa8IfmQGX
SaypxUTpr7nkYKSf8KLNk2I=
-----END PRIVATE KEY-----
";

    /// The numbers of a P-256 signature as its verifier wants them: in DER.
    fn in_der(plain: &[u8]) -> Vec<u8> {
        let mut numbers = Vec::new();
        for number in plain.chunks(P256_BYTES) {
            let first = number.iter().position(|byte| *byte != 0).unwrap();
            let sign: &[u8] = if number[first] < 0x80 { &[] } else { &[0] };
            let number = [sign, &number[first..]].concat();
            numbers.extend([0x02, u8::try_from(number.len()).unwrap()]);
            numbers.extend(number);
        }
        [&[0x30, u8::try_from(numbers.len()).unwrap()], &numbers[..]].concat()
    }

    /// Each kind of key: what it is called, and that its own public half verifies the token and no other one.
    #[test]
    fn a_token_is_signed_as_its_key_signs() {
        let known = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
        let keys = [
            (KEY, 26, "ES256"),
            (ED25519, 12, "EdDSA"),
            (RSA, 24, "RS256"),
        ];
        for (pem, head, name) in keys {
            let token = sign(pem, "robot", "https://a", 1_000).unwrap();
            let (message, signature) = token.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            let header = message.split_once('.').unwrap().0;
            let header = String::from_utf8(URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
            assert_eq!(header, format!(r#"{{"alg":"{name}","typ":"JWT"}}"#));

            let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
            let key = any_supported_type(&key).unwrap();
            let public = key.public_key().unwrap();
            // What is before the key itself says its kind.
            let public = &public.as_ref()[head..];
            let (scheme, _) = ALGORITHMS.iter().find(|(_, known)| *known == name).unwrap();
            let mut verifiers = known.mapping.iter();
            let (_, verifiers) = verifiers.find(|(known, _)| known == scheme).unwrap();
            let signature = if name == "ES256" {
                in_der(&signature)
            } else {
                signature
            };
            let holds = |message: &str| {
                let verified =
                    verifiers[0].verify_signature(public, message.as_bytes(), &signature);
                verified.is_ok()
            };
            assert!(holds(message), "{name}");
            assert!(!holds(&message.replace('.', "..")), "{name}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_quoted() {
        for key in [
            "",
            "secret",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        ] {
            let fault = sign(key, "c", "https://h", 0).unwrap_err().to_string();
            assert!(
                fault.starts_with("sign with the private key: it"),
                "{fault}"
            );
        }
    }

    /// RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_that_of_the_rfc() {
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn no_two_verifiers_are_the_same() {
        let (one, two) = (random_text().unwrap(), random_text().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.len(), 43);
    }
}
