package credential

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"hash"
	"strings"
)

// This file opens private keys that are encrypted with a password: the older form, where the PEM headers say how, and
// PKCS #8 with PBES2 (RFC 8018), which OpenSSL writes today.

var (
	errNeedsPassword = errors.New("the key is encrypted, and there is no password for it")
	errPassword      = errors.New("the key cannot be decrypted: the password is wrong")
	errScheme        = errors.New("the key is encrypted in a way that is not supported: only PBES2 with PBKDF2 and AES or 3DES is")
)

// decryptPEM returns the text with its encrypted keys in plain; other blocks stay.
func decryptPEM(text, password []byte) ([]byte, error) {
	var out bytes.Buffer
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return out.Bytes(), nil
		}
		text = rest
		plain, err := decryptBlock(block, password)
		if err != nil {
			return nil, err
		}
		if err := pem.Encode(&out, plain); err != nil {
			return nil, err
		}
	}
}

func decryptBlock(block *pem.Block, password []byte) (*pem.Block, error) {
	modern := block.Type == "ENCRYPTED PRIVATE KEY"
	older := strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED")
	switch {
	case !modern && !older:
		return block, nil
	case len(password) == 0:
		return nil, errNeedsPassword
	case modern:
		der, err := decryptPKCS8(block.Bytes, password)
		return &pem.Block{Type: "PRIVATE KEY", Bytes: der}, err
	}
	der, err := x509.DecryptPEMBlock(block, password) //lint:ignore SA1019 such files exist, and who may read them owns the key
	if err != nil {
		return nil, errPassword
	}
	return &pem.Block{Type: block.Type, Bytes: der}, nil
}

type algorithm struct {
	ID     asn1.ObjectIdentifier
	Params asn1.RawValue `asn1:"optional"`
}

type encryptedKey struct {
	Scheme algorithm
	Data   []byte
}

type pbes2 struct {
	Derivation algorithm
	Cipher     algorithm
}

type derivation struct {
	Salt       []byte
	Iterations int
	KeyLen     int       `asn1:"optional"`
	Hash       algorithm `asn1:"optional"`
}

// The object identifiers of RFC 8018 and of AES.
const (
	oidPBES2     = "1.2.840.113549.1.5.13"
	oidPBKDF2    = "1.2.840.113549.1.5.12"
	oidSHA1      = "1.2.840.113549.2.7"
	oidSHA256    = "1.2.840.113549.2.9"
	oidSHA512    = "1.2.840.113549.2.11"
	oidDESCBC3   = "1.2.840.113549.3.7"
	oidAES128CBC = "2.16.840.1.101.3.4.1.2"
	oidAES192CBC = "2.16.840.1.101.3.4.1.22"
	oidAES256CBC = "2.16.840.1.101.3.4.1.42"
)

// iterationsMax bounds the work that a key file may ask for: some seconds.
const iterationsMax = 10_000_000

func decryptPKCS8(der, password []byte) ([]byte, error) {
	var sealed encryptedKey
	var scheme pbes2
	var derive derivation
	if _, err := asn1.Unmarshal(der, &sealed); err != nil || sealed.Scheme.ID.String() != oidPBES2 {
		return nil, errScheme
	}
	if _, err := asn1.Unmarshal(sealed.Scheme.Params.FullBytes, &scheme); err != nil || scheme.Derivation.ID.String() != oidPBKDF2 {
		return nil, errScheme
	}
	if _, err := asn1.Unmarshal(scheme.Derivation.Params.FullBytes, &derive); err != nil {
		return nil, errScheme
	}
	newHash := derive.hash()
	size, newCipher := cipherOf(scheme.Cipher.ID.String())
	if newHash == nil || newCipher == nil || derive.Iterations < 1 || derive.Iterations > iterationsMax {
		return nil, errScheme
	}
	key, err := pbkdf2.Key(newHash, string(password), derive.Salt, derive.Iterations, size)
	if err != nil {
		return nil, err
	}
	block, err := newCipher(key)
	if err != nil {
		return nil, err
	}
	var iv []byte
	if _, err := asn1.Unmarshal(scheme.Cipher.Params.FullBytes, &iv); err != nil || len(iv) != block.BlockSize() {
		return nil, errScheme
	}
	return unseal(block, iv, sealed.Data)
}

func (d *derivation) hash() func() hash.Hash {
	switch d.Hash.ID.String() {
	case oidSHA1, "":
		return sha1.New
	case oidSHA256:
		return sha256.New
	case oidSHA512:
		return sha512.New
	}
	return nil
}

// cipherOf is the length of a cipher's key, and what makes it.
func cipherOf(id string) (int, func(key []byte) (cipher.Block, error)) {
	switch id {
	case oidAES128CBC:
		return 16, aes.NewCipher
	case oidAES192CBC:
		return 24, aes.NewCipher
	case oidAES256CBC:
		return 32, aes.NewCipher
	case oidDESCBC3:
		return 24, des.NewTripleDESCipher
	}
	return 0, nil
}

// unseal decrypts and takes the padding off. A wrong password gives garbage, which shows there or as a key that is none.
func unseal(block cipher.Block, iv, data []byte) ([]byte, error) {
	size := block.BlockSize()
	if len(data) == 0 || len(data)%size != 0 {
		return nil, errPassword
	}
	plain := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, data)
	n := int(plain[len(plain)-1])
	if n == 0 || n > size || !bytes.Equal(plain[len(plain)-n:], bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, errPassword
	}
	return plain[:len(plain)-n], nil
}
