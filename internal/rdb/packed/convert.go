package packed

// ListpackOfZiplist appends the elements of a ziplist as a listpack; n is their number. On an error dst is unchanged.
func ListpackOfZiplist(dst, ziplist []byte) (out []byte, n int, err error) {
	z, err := OpenZiplist(ziplist)
	if err != nil {
		return dst, 0, err
	}
	out = AppendListpackHead(dst)
	for e, ok := z.Next(); ok; e, ok = z.Next() {
		out = AppendListpackElem(out, e)
		n++
	}
	if z.Err() != nil {
		return dst, 0, z.Err()
	}
	return FinishListpack(out, len(dst), n), n, nil
}

// ListpackOfZipmap appends the fields and values of a zipmap as a listpack; n is the number of both together. On an error
// dst is unchanged.
func ListpackOfZipmap(dst, zipmap []byte) (out []byte, n int, err error) {
	z, err := OpenZipmap(zipmap)
	if err != nil {
		return dst, 0, err
	}
	out = AppendListpackHead(dst)
	for field, value, ok := z.Next(); ok; field, value, ok = z.Next() {
		out = AppendListpackString(out, field)
		out = AppendListpackString(out, value)
		n += 2
	}
	if z.Err() != nil {
		return dst, 0, z.Err()
	}
	return FinishListpack(out, len(dst), n), n, nil
}

// CanonicalListpack appends a listpack with every element in its usual form: text of a number as a number.
func CanonicalListpack(dst, listpack []byte) (out []byte, err error) {
	l, err := OpenListpack(listpack)
	if err != nil {
		return dst, err
	}
	out = AppendListpackHead(dst)
	n := 0
	for e, ok := l.Next(); ok; e, ok = l.Next() {
		out = AppendListpackElem(out, e)
		n++
	}
	if l.Err() != nil {
		return dst, l.Err()
	}
	return FinishListpack(out, len(dst), n), nil
}
