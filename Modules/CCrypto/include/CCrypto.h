// OpenSSL's libcrypto: digests, keys, certificates and CMS; loaded when it is needed.
#pragma once
#include "CCrypto_sha256.h"
#include "CLinux_library.h"
#include <openssl/cms.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#define CCRYPTO_FUNCTIONS(each) \
  each(ASN1_STRING_to_UTF8) each(BIO_ctrl) each(BIO_free) each(BIO_new) each(BIO_read) \
  each(BIO_s_mem) each(BIO_write) each(BN_bin2bn) each(BN_free) each(BN_to_ASN1_INTEGER) \
  each(CMS_add1_signer) each(CMS_ContentInfo_free) each(CMS_final) each(CMS_get0_SignerInfos) \
  each(CMS_get0_type) each(CMS_get1_certs) each(CMS_is_detached) each(CMS_set1_signers_certs) \
  each(CMS_sign) each(CMS_SignerInfo_get0_algs) each(CMS_verify) each(CRYPTO_free) \
  each(d2i_CMS_bio) each(d2i_X509) each(ERR_clear_error) \
  each(ERR_peek_last_error) each(ERR_reason_error_string) each(EVP_blake2b512) \
  each(EVP_DigestFinal_ex) each(EVP_DigestInit_ex) each(EVP_DigestUpdate) each(EVP_DigestVerify) \
  each(EVP_DigestVerifyInit) each(EVP_MD_CTX_free) each(EVP_MD_CTX_new) each(EVP_PKEY_CTX_free) \
  each(EVP_PKEY_CTX_new_from_name) each(EVP_PKEY_CTX_set_group_name) each(EVP_PKEY_free) \
  each(EVP_PKEY_generate) each(EVP_PKEY_get_base_id) each(EVP_PKEY_get_bits) \
  each(EVP_PKEY_keygen_init) each(EVP_PKEY_new_raw_public_key) each(EVP_sha1) each(EVP_sha256) \
  each(i2d_CMS_ContentInfo) each(i2d_X509) each(OBJ_obj2nid) each(OPENSSL_sk_free) \
  each(OPENSSL_sk_new_null) each(OPENSSL_sk_num) each(OPENSSL_sk_pop) each(OPENSSL_sk_push) \
  each(OPENSSL_sk_value) each(PEM_read_bio_PrivateKey) each(PEM_read_bio_X509) \
  each(PEM_write_bio_PrivateKey) each(PEM_write_bio_X509) each(RAND_bytes) \
  each(X509_add_ext) each(X509_check_private_key) \
  each(X509_EXTENSION_free) each(X509_free) each(X509_get0_pubkey) \
  each(X509_get_extended_key_usage) each(X509_get_issuer_name) each(X509_get_key_usage) \
  each(X509_get_serialNumber) each(X509_get_subject_name) each(X509_getm_notAfter) \
  each(X509_getm_notBefore) each(X509_gmtime_adj) each(X509_NAME_add_entry_by_NID) \
  each(X509_NAME_ENTRY_get_data) each(X509_NAME_get_entry) each(X509_NAME_get_index_by_NID) \
  each(X509_NAME_oneline) each(X509_new) each(X509_set_issuer_name) each(X509_set_pubkey) \
  each(X509_set_version) each(X509_sign) each(X509_STORE_add_cert) each(X509_STORE_CTX_free) \
  each(X509_STORE_CTX_get0_param) each(X509_STORE_CTX_get_current_cert) \
  each(X509_STORE_CTX_get_error) each(X509_STORE_CTX_init) each(X509_STORE_CTX_new) \
  each(X509_STORE_free) each(X509_STORE_new) each(X509_time_adj_ex) each(X509_up_ref) \
  each(X509_verify_cert) each(X509_verify_cert_error_string) \
  each(X509_VERIFY_PARAM_set_auth_level) each(X509_VERIFY_PARAM_set_flags) \
  each(X509_VERIFY_PARAM_set_time) each(X509V3_EXT_conf_nid) each(X509V3_set_ctx)

/// The functions of libcrypto that are called.
struct ccrypto_functions { CCRYPTO_FUNCTIONS(CLINUX_FUNCTION) };

/// Finds them. Null, or what is wrong in words.
const char *_Nullable ccrypto_load(struct ccrypto_functions *_Nonnull functions);
