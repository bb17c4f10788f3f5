// SHA-256 out of libcrypto's static library.
//
// It is linked in, since every start of an app and every view hash something, and to load all of
// libcrypto takes longer than that. What is not deprecated, EVP's contexts, needs all of it, and
// allocates each time that it begins anew; the code beneath is the same.
#pragma once
#include <openssl/crypto.h>
#include <openssl/sha.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Begins a digest. None of these can fail.
static inline void ccrypto_sha256_begin(SHA256_CTX *_Nonnull context) {
  (void)SHA256_Init(context);
}

/// Takes bytes in; there may be none.
static inline void ccrypto_sha256_update(SHA256_CTX *_Nonnull context, const void *_Nullable bytes,
                                         size_t count) {
  if (count > 0) (void)SHA256_Update(context, bytes, count);
}

/// Writes the digest to a place of 32 bytes.
static inline void ccrypto_sha256_finish(SHA256_CTX *_Nonnull context, void *_Nonnull place) {
  (void)SHA256_Final(place, context);
}

#pragma GCC diagnostic pop

/// Whether bytes are the same, in a time that does not tell where they differ.
static inline int ccrypto_equal(const void *_Nonnull one, const void *_Nonnull other,
                                size_t count) {
  return CRYPTO_memcmp(one, other, count) == 0;
}
