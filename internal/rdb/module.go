package rdb

// readModule reads the value of a module type.
func (d *Decoder) readModule() error {
	id, err := d.length()
	if err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	if err := d.value.Module(ModuleID(id)); err != nil {
		return err
	}
	return d.skipModuleParts()
}

// readModuleAux reads data of a module that belongs to no key.
func (d *Decoder) readModuleAux() error {
	id, err := d.length()
	if err != nil {
		return err
	}
	part, err := d.length()
	if err != nil {
		return err
	}
	if part != moduleUint {
		return ErrModulePart
	}
	when, err := d.length()
	if err != nil {
		return err
	}
	if err := d.file.ModuleAux(ModuleID(id), when); err != nil {
		return err
	}
	return d.skipModuleParts()
}

// skipModuleParts passes over what a module wrote: every part tells its type, so that this works without the module.
func (d *Decoder) skipModuleParts() error {
	for {
		part, err := d.length()
		if err != nil {
			return err
		}
		switch part {
		case moduleEOF:
			return nil
		case moduleSigned, moduleUint:
			_, err = d.length()
		case moduleFloat:
			_, err = d.src.need(4)
		case moduleDouble:
			_, err = d.src.need(8)
		case moduleString:
			_, err = d.str(&d.text)
		default:
			err = ErrModulePart
		}
		if err != nil {
			return err
		}
	}
}
