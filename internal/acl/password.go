package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
)

// This file holds passwords, of which only SHA-256 sums are kept.

const sumLength = 2 * sha256.Size

// sumOf is the sum of a password as it is kept.
func sumOf(password []byte) string {
	sum := sha256.Sum256(password)
	return hex.EncodeToString(sum[:])
}

// sumIn reads the sum in a rule: >password, <password, #sum or !sum.
func sumIn(rule []byte) (string, error) {
	if rule[0] == '>' || rule[0] == '<' {
		return sumOf(rule[1:]), nil
	}
	if len(rule) != 1+sumLength {
		return "", ErrPasswordHash
	}
	for _, c := range rule[1:] {
		if (c < 'a' || c > 'f') && (c < '0' || c > '9') {
			return "", ErrPasswordHash
		}
	}
	return string(rule[1:]), nil
}

func (u *User) addPassword(rule []byte) error {
	sum, err := sumIn(rule)
	if err != nil {
		return err
	}
	if !slices.Contains(u.passwords, sum) {
		u.passwords = append(u.passwords, sum)
	}
	u.NoPass = false
	return nil
}

func (u *User) removePassword(rule []byte) error {
	sum, err := sumIn(rule)
	if err != nil {
		return err
	}
	at := slices.Index(u.passwords, sum)
	if at < 0 {
		return ErrNoPassword
	}
	u.passwords = slices.Delete(u.passwords, at, at+1)
	return nil
}

// Accepts says whether one can log in as the user with a password. How long it takes does not depend on how much of the
// password is right.
func (u *User) Accepts(password []byte) bool {
	if !u.Enabled {
		return false
	}
	if u.NoPass {
		return true
	}
	sum, right := []byte(sumOf(password)), 0
	for _, p := range u.passwords {
		right |= subtle.ConstantTimeCompare(sum, []byte(p))
	}
	return right == 1
}

// Passwords are the sums of the user's passwords.
func (u *User) Passwords() []string { return u.passwords }
