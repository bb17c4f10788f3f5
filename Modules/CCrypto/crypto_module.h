// OpenSSL's libcrypto: digests, keys, certificates and CMS.
#pragma once
#include <openssl/cms.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <openssl/sha.h>

/// SHA-256 of bytes that are all there, into 32 bytes, without any allocation; 0 if it failed.
///
/// A context of EVP's allocates each time that it begins anew, in OpenSSL 3.0. What does not is
/// deprecated, and the same code beneath.
static inline int ccrypto_sha256(const void *bytes, size_t count, unsigned char digest[32]) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  SHA256_CTX context;
  return SHA256_Init(&context) && SHA256_Update(&context, bytes, count) &&
         SHA256_Final(digest, &context);
#pragma GCC diagnostic pop
}
