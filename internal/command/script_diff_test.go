package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// scripts that are answered as redis-server answers them, errors included.
var comparedScripts = []string{
	"return 3.99", "return -1.5", "return 1e20", "return -1e20", "return 0/0", "return {1,2,nil,4}", "return {}", "return {{1},{'a',{}}}",
	"return true", "return false", "return nil", "return {true,false,1}", "return {ok='fine'}", "return {err='MY bad'}", "return {err='x'}",
	"return redis.error_reply('ERR x')", "return redis.error_reply('x y')", "return redis.error_reply('-x y')", "return redis.error_reply('')",
	"return redis.error_reply(1)", "return redis.error_reply()", "return redis.status_reply('s')", "return redis.status_reply(1)",
	"return {double=1.5}", "return {map={a=1}}", "return {big_number='123'}", "return {verbatim_string={format='txt',string='abc'}}",
	"return {set={a=true}}", "return {double='x'}", "redis.setresp(3) return redis.call('get','none')", "redis.setresp(4)", "redis.setresp()",
	"redis.setresp(3) return true", "redis.setresp(3) return {redis.call('set','k','v'), redis.call('get','k')}",
	"return tostring(0.1)", "return tostring(1/3)", "return tostring(100)", "return tostring(1e15)", "return tostring(1e14)", "return tostring(2^53)",
	"return tostring(-0)", "return tostring(1/0)", "return tostring(-1/0)", "return 'x'..1e100", "return 1 ..''", "return 0.1+0.2 ..''",
	"return tonumber('0x10')", "return tonumber('  12  ')", "return tonumber('1e2')", "return tonumber('')", "return tonumber('12a')", "return tonumber('ff',16)",
	"return tonumber('zz',36)", "return tonumber('8',8)", "return tonumber(nil)", "return tonumber()", "return type(nil)", "return type()",
	"return string.format('%d %5d %-5d| %05d %+d', 1, 2, 3, 4, 5)", "return string.format('%x %X %o %u %c', 255, 255, 8, 7, 65)",
	"return string.format('%e %E %f %g %G', 1.5, 1.5, 1.5, 1.5, 1e20)", "return string.format('%.3f %10.2f %-10.2f|', 1/3, 1/3, 1/3)",
	"return string.format('%s %10s %-10s| %.2s', 'a', 'b', 'c', 'defg')", "return string.format('%q', 'a\\n\"\\\\b\\0c')", "return string.format('%y', 1)",
	"return string.format('%d', 'x')", "return string.format('%d')", "return string.format('%5.1s|', 'abc')", "return string.format('%%')", "return string.format('%g', 0/0)",
	"return string.format('%d', 3.7)", "return string.format('%i', -3.7)", "return string.format('%x', -1)", "return string.format('%#x %#o', 255, 8)",
	"return string.rep('ab', 3)", "return string.rep('x', -1)", "return string.rep('x')", "return ('x'):rep(3)", "return ('abc'):upper()", "return string.reverse('abc')",
	"return string.sub('hello', 2, -2)", "return string.sub('hello', -3)", "return string.sub('hello', 10)", "return string.sub('hello', 0)", "return string.byte('A')",
	"return {string.byte('abc', 1, -1)}", "return string.char(72, 105)", "return string.char(256)", "return string.len('a\\0b')", "return #'abc'",
	"return {string.find('hello', 'l')}", "return {string.find('hello', 'xyz')}", "return {string.find('hello', '')}", "return {string.find('hello', '', 10)}",
	"return {string.find('a.b', '.', 1, true)}", "return {string.find('hello', 'l(l)o')}", "return {string.match('key=val', '(%w+)=(%w+)')}", "return string.match('abc', '()b()')",
	"return string.match('  trim  ', '^%s*(.-)%s*$')", "return string.match('f(a(b)c)d', '%b()')", "return string.match('THE (quick) fox', '%f[%a]%a+')", "return string.find('a', '[a')",
	"return string.find('a', '%')", "return string.find('a', '(')", "return string.gsub('hello world', 'o', '0')", "return {string.gsub('hello', 'l', '[%0]')}", "return string.gsub('abc', '%w', '%0%0', 2)",
	"return string.gsub('abc', 'b', '%2')", "return string.gsub('hello', '(l)(l)', '%2%1')", "return string.gsub('abc', '', '-')", "return string.gsub('a b', '%a', function(c) if c == 'a' then return 'X' end end)",
	"local t = {} for w in string.gmatch('one two', '%a+') do t[#t+1] = w end return t", "local t = {} for k, v in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do t[#t+1] = k..v end return t",
	"return table.concat({1,2,3}, ',')", "return table.concat({1,'a',2.5})", "return table.concat({{}})", "return table.concat({1,2,3}, ',', 2, 3)", "local t={3,1,2} table.sort(t) return t",
	"local t={3,1,2} table.sort(t, function(a,b) return a>b end) return t", "local t={1,'a'} table.sort(t) return t", "local t={1,2} table.insert(t, 3) table.insert(t, 1, 0) return t",
	"local t={1,2,3} return {table.remove(t), table.remove(t,1), #t}", "return table.remove({})", "return table.getn({1,2})", "return table.maxn({1,2,[10]=1})", "table.insert({}, 1, 2, 3)", "return {unpack({1,2,3}, 2)}",
	"return {unpack({1,2,3}, 1, 5)}", "return #{unpack({}, 1, 7000)}", "return {unpack({1},1,1e8)}", "return {select(2, 'a', 'b', 'c')}", "return select('#')", "return select(-1, 1, 2)", "return select(0)",
	"return math.floor(-1.5)", "return math.max(1, 5, 3)", "return math.min()", "return math.huge", "return tostring(math.pi)", "return {math.modf(3.7)}", "return math.fmod(7, 3)", "return -7 % 3", "return 2^10", "return math.abs(-5)",
	"math.randomseed(5) return {math.random(100), math.random(100), math.random(1,6)}", "return math.random(0)", "return math.random(2,1)",
	"return {pcall(error, 'x')}", "return {pcall(function() error('x', 0) end)}", "return {pcall(redis.call, 'nosuch')}", "return {pcall(function() return 1, 2 end)}",
	"error('x')", "error('x', 2)", "error({err='CODE x'})", "error(5)", "assert(false)", "assert(false, 'msg')", "assert(nil, 'm')", "return assert(1)",
	"return {xpcall(function() error('x', 0) end, function(e) return 'h'..e end)}", "return redis.call()", "return redis.pcall()", "return redis.call('get')", "return redis.call('nosuch', 1)", "return redis.call({})", "return redis.call('set', 'k', true)",
	"return redis.call('set', 'k', 1.5)", "redis.call('set', 'k', 3.0) return redis.call('get', 'k')", "return redis.call('incr', 'nonum')",
	"redis.call('set', 'k', 'x') return redis.call('incr', 'k')", "redis.call('set','k','x') return redis.pcall('incr', 'k')['err']", "return redis.call('subscribe', 'x')", "return redis.call('config', 'nosuch')", "return redis.call('object', 'nosuch')",
	"return redis.sha1hex('x')", "return redis.sha1hex()", "return redis.sha1hex(1)", "return redis.log()", "return redis.log('x', 'y')", "return redis.log(9, 'x')", "return redis.REPL_ALL", "return redis.LOG_WARNING", "redis.set_repl(9)", "return redis.replicate_commands()",
	"x = 1", "return x", "return _G.x", "_G.x = 1", "rawset(_G, 'x', 1)", "setmetatable(_G, {})", "redis.x = 1", "redis.call = 1", "string.x = 1", "local string = string return string.nosuch", "print('x')", "loadfile('x')", "dofile('x')", "require('x')",
	"os.exit()", "io.write('x')", "return os", "return type(os)", "return debug", "return package", "return module", "return type(coroutine)", "function f() end", "KEYS[3] = 'x' return KEYS[3]", "ARGV = 1", "return loadstring('return 1 + 1')()", "return loadstring('x x')",
	"return loadstring(string.dump(function() end))", "return load(function() return nil end)()", "return collectgarbage('count') > 0",
	"return next({})", "return {next({5})}", "return rawequal('a', 'a')", "return rawget({a=1}, 'a')", "return #KEYS", "return ARGV[1]", "return {KEYS[1], ARGV[1], #ARGV}",
	"local t = setmetatable({}, {__index=function(t,k) return k..'!' end}) return t.x", "local t = setmetatable({}, {__call=function(self, a) return a end}) return t(7)", "local t = setmetatable({}, {__tostring=function() return 'T' end}) return tostring(t)",
	"local t = setmetatable({}, {__add=function(a, b) return 42 end}) return t + 1", "local t = setmetatable({}, {__concat=function(a, b) return 'C' end}) return t .. 'x'", "local t = setmetatable({}, {__eq=function() return true end}) return t == setmetatable({}, getmetatable(t))",
	"local t = setmetatable({}, {__lt=function() return true end}) return t < t", "local t = setmetatable({}, {__metatable='M'}) return getmetatable(t)", "setmetatable(setmetatable({}, {__metatable=1}), {})", "local t = setmetatable({}, {__newindex=function(t,k,v) rawset(t,k,v*2) end}) t.a = 4 return t.a",
	"local co = coroutine.create(function(a) local b = coroutine.yield(a+1) return b*2 end) return {coroutine.resume(co, 1), select(2, coroutine.resume(co, 10)), coroutine.status(co)}", "local s = 0 for i = 10, 1, -3 do s = s + i end return s", "local i = 0 repeat local j = i i = i + 1 until j >= 3 return i",
	"local a, b, c = (function() return 1, 2 end)() return {a, b, c == nil}", "local t = {f = function(self, x) return x end} return t:f(3)", "return (function(...) return select('#', ...) end)(nil, nil)", "local function f(n) if n == 0 then return 'done' end return f(n-1) end return f(10000)",
	"return 'a' < 'b'", "return 'a' < 1", "return {} < {}", "return nil < 1", "return 10 == '10'", "return '10' + 5", "return 'a' + 1", "return {} + 1", "return #nil", "local x; return x.y", "local x = 5; return x.y.z", "return KEYS.x.y", "local t = {} t[nil] = 1", "local t = {} t[0/0] = 1", "local x = nil .. 'a'", "return {} .. 'a'",
	"return 1 and 2", "return nil or 'd'", "return not nil", "return 'a\\65\\n\\'b'", "return [[long\nstring]]", "return [==[a]]b]==]", "-- comment\nreturn 1", "--[[ long\ncomment ]] return 2", "return 0x1F", "return 1e-2 * 100", "return .5 * 4",
	"return 1 +", "for", "return 'abc", "x =", "if 1 then", "return 1 1", "}", "return @", "local function end", "break", "return ...", "return [[abc", "--[[ abc", "local 1 = 2", "f(", "local t = {1,2", "while true", "a.b:c = 1",
}

func TestScriptsAreThoseOfRedis(t *testing.T) {
	w := newTwins(t)
	for _, body := range slices.Concat(comparedScripts, failingScripts, sourcesOfEverySort) {
		w.reset(t)
		theirs, err := w.redis.Try("EVAL", body, "1", "key", "arg")
		if err != nil {
			t.Fatal(err)
		}
		ours := w.h.args("EVAL", body, "1", "key", "arg")
		if a, b := ours.String(), theirs.String(); a != b {
			t.Errorf("%s\n  ours:   %s\n  theirs: %s", body, a, b)
		}
	}
}

func TestJSONIsThatOfRedis(t *testing.T) {
	w := newTwins(t)
	for _, text := range []string{
		`1`, `"a"`, `[1,2,3]`, `{"a":1}`, `[]`, `{}`, `[[]]`, `null`, `true`, `[null,1]`, `1e3`, `-1.5`, `1E+2`, `"\u0041"`, `"\ud83d\ude00"`, `"\ud83d"`,
		`"\x"`, `[1,]`, `{"a"}`, `{"a":}`, `{1:2}`, `[1 2]`, `nul`, `nan`, `inf`, `-inf`, `0x10`, `01`, `"abc`, ``, ` `, `[`, `{`, `]`, `1 2`, `"a\nb"`, `"\/"`, `tru`, `[1e400]`, `12345678901234567890`, `0.1`,
	} {
		w.compare(t, "EVAL", "local v = cjson.decode(ARGV[1]) if type(v) == 'table' then return cjson.encode(v) end return tostring(v)", "0", text)
	}
	for _, body := range []string{
		"return cjson.encode({1,2,3})", "return cjson.encode({})", "return cjson.encode({a=1})", "return cjson.encode(nil)", "return cjson.encode('a\"b\\\\c/d\\n\\1\\127')", "return cjson.encode(0.1)", "return cjson.encode(1e15)",
		"return cjson.encode(1/0)", "return cjson.encode(0/0)", "return cjson.encode(function() end)", "return cjson.encode({[1]=1,[5]=5})", "return cjson.encode({[1]=1,[50]=5})", "return cjson.encode({[1.5]=1})", "return cjson.encode({[true]=1})",
		"return cjson.encode({1,2,nil,4})", "return cjson.encode()", "return cjson.encode(1,2)", "return cjson.encode(cjson.null)", "cjson.encode_max_depth(2) return cjson.encode({{{}}})", "cjson.encode_sparse_array(true) return cjson.encode({[1]=1,[50]=5})",
		"cjson.encode_number_precision(3) return cjson.encode(0.123456)", "cjson.encode_number_precision(20)", "cjson.encode_invalid_numbers('null') return cjson.encode(0/0)", "cjson.encode_invalid_numbers(true) return cjson.encode(1/0)", "cjson.decode_max_depth(2) return cjson.decode('[[[]]]')",
		"return cjson.decode('[1]', 2)", "local t={} for i=1,1001 do t={t} end return cjson.encode(t)", "return cjson.decode(string.rep('[', 1001)..string.rep(']', 1001))", "cjson.x = 1", "return tostring(cjson.null)",
		"return cjson.encode({cjson.decode('null')})", "return cjson.encode({a={b={c='d'}}})", "return cjson.encode(2^53)", "return cjson.encode(-0.0)",
	} {
		w.reset(t)
		theirs, err := w.redis.Try("EVAL", body, "0")
		if err != nil {
			t.Fatal(err)
		}
		if ours := w.h.args("EVAL", body, "0"); ours.String() != theirs.String() {
			t.Errorf("%s\n  ours:   %v\n  theirs: %v", body, ours, theirs)
		}
		if strings.Contains(body, "cjson.encode_") || strings.Contains(body, "cjson.decode_") {
			w.redis.Try("EVAL", "cjson.encode_max_depth(1000) cjson.decode_max_depth(1000) cjson.encode_sparse_array(false) cjson.encode_number_precision(14) cjson.encode_invalid_numbers(false)", "0")
		}
	}
}

// Bit operations, MessagePack and struct give what those of redis-server give.
func TestLibrariesAreThoseOfRedis(t *testing.T) {
	w := newTwins(t)
	number := rapid.OneOf(rapid.SampledFrom([]string{"0", "1", "-1", "255", "65535", "65536", "2147483647", "-2147483648", "4294967295", "1e15", "-1e15", "0.5", "1.25", "0.1", "-0.1", "127", "128", "-32", "-33", "32767", "-129"}),
		rapid.Map(rapid.IntRange(-1<<40, 1<<40), func(n int) string { return fmt.Sprint(n) }))
	hex := "local r = '' for i = 1, #s do r = r .. string.format('%02x', s:byte(i)) end return r"
	rapid.Check(t, func(rt *rapid.T) {
		a, b := number.Draw(rt, "a"), number.Draw(rt, "b")
		op := rapid.SampledFrom([]string{"band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "tohex"}).Draw(rt, "op")
		w.compare(rt, "EVAL", "return bit."+op+"("+a+","+b+")", "0")
		w.compare(rt, "EVAL", "local s = cmsgpack.pack("+a+",'"+b+"',{"+a+","+b+"},{x="+b+"}) "+hex, "0")
		w.compare(rt, "EVAL", "local t = {cmsgpack.unpack(cmsgpack.pack("+a+","+b+",nil,true,{1,{2}}))} return {tostring(t[1]), tostring(t[2]), t[4], #t[5]}", "0")
		f := rapid.SliceOfN(rapid.SampledFrom([]string{"<", ">", "!", "!4", "b", "B", "h", "H", "l", "L", "i", "I", "i3", "I7", "f", "d", "x", "T"}), 1, 5).Draw(rt, "format")
		format := strings.Join(f, "")
		w.compare(rt, "EVAL", "local s = struct.pack('"+format+"',"+strings.Repeat(a+",", 5)+b+") "+hex, "0")
		w.compare(rt, "EVAL", "local t = {struct.unpack('"+format+"', struct.pack('"+format+"',"+strings.Repeat(a+",", 5)+b+"))} for i=1,#t do t[i] = tostring(t[i]) end return t", "0")
		w.compare(rt, "EVAL", "return struct.size('"+format+"')", "0")
	})
	for _, body := range []string{
		"return struct.pack('z', 1)", "return struct.pack('i33', 1)", "return struct.pack('c5', 'abc')", "return struct.unpack('i', 'abc')", "return struct.unpack('s', 'abc')", "return struct.size('s')", "return struct.size('c0')", "return struct.pack('!3', 1)",
		"return {struct.unpack('s', 'abc\\0d')}", "return {struct.unpack('Bc0', '\\3abcd')}", "return struct.unpack('c0', 'abc')", "return struct.unpack('i', 'abcd', 0)", "return struct.pack('i')",
		"return cmsgpack.pack()", "return cmsgpack.unpack('\\217')", "return cmsgpack.unpack('\\193')", "return {cmsgpack.unpack_one('\\1\\2')}", "return {cmsgpack.unpack_limit('\\1\\2\\3', 2)}", "return cmsgpack.unpack_one('\\1', 5)", "return cmsgpack.unpack_one('\\1', -1)",
		"return bit.band()", "return bit.band('x')", "return bit.tobit(2^32+5)", "return bit.bnot(0)", "return bit.bswap(1)", "return bit.tohex(255, 2)", "return bit.tohex(-1)",
	} {
		theirs, err := w.redis.Try("EVAL", body, "0")
		if err != nil {
			t.Fatal(err)
		}
		if ours := w.h.args("EVAL", body, "0"); ours.String() != theirs.String() {
			t.Errorf("%s\n  ours:   %v\n  theirs: %v", body, ours, theirs)
		}
	}
}
