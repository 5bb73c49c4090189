package rdb

// readValue reads what follows the key.
func (d *Decoder) readValue(t Type) error {
	switch t {
	case TypeString:
		return d.readString()
	case TypeList:
		return d.readList()
	case TypeListZiplist, TypeListZiplists, TypeListListpacks:
		return d.readQuicklist(t)
	case TypeSet:
		return d.readSet()
	case TypeSetIntset:
		return d.readIntset()
	case TypeZSetText, TypeZSet:
		return d.readZSet(t)
	case TypeHash:
		return d.readHash()
	case TypeHashTTL, TypeHashTTLPreGA:
		return d.readHashTTL(t)
	case TypeHashTTLPack, TypeHashTTLPackPre:
		return d.readHashTTLPack(t)
	case TypeSetListpack, TypeZSetListpack, TypeHashListpack, TypeZSetZiplist, TypeHashZiplist, TypeHashZipmap:
		return d.readPacked(t)
	case TypeStream1, TypeStream2, TypeStream3:
		return d.readStream(t)
	case TypeModule:
		return d.readModule()
	case TypeModulePreGA:
		return ErrPreGA
	}
	return ErrType
}

func (d *Decoder) readString() error {
	s, v, isInt, err := d.strOrInt(&d.text)
	if err != nil {
		return err
	}
	if err := d.openWhole(); err != nil {
		return err
	}
	if isInt {
		return d.value.Int(v)
	}
	return d.value.String(s)
}

func (d *Decoder) eachString(n uint64, use func([]byte) error) error {
	for ; n > 0; n-- {
		s, err := d.str(&d.text)
		if err != nil {
			return err
		}
		if err := use(s); err != nil {
			return err
		}
	}
	return nil
}
