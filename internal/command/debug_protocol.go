package command

import (
	"bytes"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
)

const errProtocolType = "ERR Wrong protocol type name. Please use one of the following: " +
	"string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"

// cmdDebugProtocol replies with an example of each type; the values are those that tests of clients expect.
func cmdDebugProtocol(c *engine.Ctx) {
	switch name := string(bytes.ToLower(c.Args[2])); name {
	case "string":
		c.BulkString("Hello World")
	case "integer":
		c.ReplyInt(12345)
	case "double":
		c.Double(3.141)
	case "null":
		c.Null()
	case "array":
		c.Array(3)
		replyCount(c)
	case "set":
		c.Set(3)
		replyCount(c)
	case "verbatim":
		c.Verbatim("This is a verbatim\nstring")
	default:
		c.Append(func(dst []byte, v resp.Version) []byte { return appendExample(dst, v, name) })
	}
}

func replyCount(c *engine.Ctx) {
	for i := range int64(3) {
		c.ReplyInt(i)
	}
}

// appendExample writes the types that no other command replies with.
func appendExample(dst []byte, v resp.Version, name string) []byte {
	switch name {
	case "bignum":
		return resp.AppendBigNumber(dst, v, "1234567999999999999999999999999999999")
	case "true", "false":
		return resp.AppendBool(dst, v, name == "true")
	case "map":
		dst = resp.AppendMap(dst, v, 3)
		for i := range int64(3) {
			dst = resp.AppendBool(resp.AppendInt(dst, i), v, i == 1)
		}
		return dst
	case "attrib":
		if v >= resp.RESP3 {
			dst = resp.AppendBulkString(resp.AppendAttribute(dst, 1), "key-popularity")
			dst = resp.AppendBulkString(resp.AppendArray(dst, 2), "key:123")
			dst = resp.AppendInt(dst, 90)
		}
		return resp.AppendBulkString(dst, "Some real reply following the attribute")
	case "push":
		if v < resp.RESP3 {
			return resp.AppendError(dst, "ERR RESP2 is not supported by this command")
		}
		dst = resp.AppendBulkString(resp.AppendPush(dst, v, 2), "server-cpu-usage")
		dst = resp.AppendInt(dst, 42)
		return resp.AppendBulkString(dst, "Some real reply following the push reply")
	}
	return resp.AppendError(dst, errProtocolType)
}
