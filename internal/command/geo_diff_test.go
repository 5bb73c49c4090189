package command

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// geoDraw makes random commands on places.
type geoDraw struct{ *zsetDraw }

func (d *geoDraw) degrees(name string, most float64) string {
	return rapid.OneOf(
		rapid.Map(rapid.Float64Range(-most, most), func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }),
		rapid.Map(rapid.Float64Range(13, 16), func(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }),
		rapid.SampledFrom([]string{"0", "15", "15.001", "-0.5", "85.05112878", "-85.05112878", "180", "-180", "200", "x", "inf"}),
	).Draw(d.T, name)
}

func (d *geoDraw) place() []string { return []string{d.degrees("lon", 180), d.degrees("lat", 85)} }

func (d *geoDraw) name() string { return fmt.Sprintf("p%d", rapid.IntRange(0, 30).Draw(d.T, "name")) }

func (d *geoDraw) unit() string {
	return rapid.SampledFrom([]string{"m", "km", "KM", "ft", "mi", "km", "km", "yd"}).Draw(d.T, "unit")
}

func (d *geoDraw) length() string {
	return rapid.SampledFrom([]string{"0", "1", "50", "200.5", "1000", "3000", "20000", "100000", "-1", "x"}).Draw(d.T, "length")
}

func (d *geoDraw) geoCommand() []string {
	d.step++
	name := rapid.SampledFrom([]string{"GEOADD", "GEOADD", "GEOADD", "GEOPOS", "GEOHASH", "GEODIST", "GEORADIUS", "GEORADIUS_RO", "GEORADIUSBYMEMBER",
		"GEORADIUSBYMEMBER_RO", "GEOSEARCH", "GEOSEARCH", "GEOSEARCH", "GEOSEARCHSTORE", "ZREM", "SET", "ZADD"}).Draw(d.T, "command")
	k := d.key()
	switch name {
	case "GEOADD":
		args := append([]string{name, k}, d.words("NX", "XX", "CH", "x")...)
		for range rapid.IntRange(1, 5).Draw(d.T, "places") {
			args = append(append(args, d.place()...), d.name())
		}
		return args
	case "GEOPOS", "GEOHASH", "ZREM":
		return []string{name, k, d.name(), d.name()}
	case "GEODIST":
		return append([]string{name, k, d.name(), d.name()}, d.maybe(2, d.unit())...)
	case "GEORADIUS", "GEORADIUS_RO":
		args := append(append([]string{name, k}, d.place()...), d.length(), d.unit())
		return append(args, d.radiusOptions()...)
	case "GEORADIUSBYMEMBER", "GEORADIUSBYMEMBER_RO":
		return append([]string{name, k, d.name(), d.length(), d.unit()}, d.radiusOptions()...)
	case "GEOSEARCH":
		return append(append([]string{name, k}, d.where()...), d.options()...)
	case "GEOSEARCHSTORE":
		return append(append(append([]string{name, d.key(), k}, d.where()...), d.options()...), d.maybe(2, "STOREDIST")...)
	case "ZADD":
		return []string{name, k, rapid.SampledFrom([]string{"-1", "1e300", "-1e300", "5", "inf", "4503599627370496", "9223372036854775808"}).Draw(d.T, "score"), d.name()}
	}
	return []string{name, k, "v"}
}

// where is where GEOSEARCH searches.
func (d *geoDraw) where() (args []string) {
	if rapid.Bool().Draw(d.T, "member") {
		args = append(args, "FROMMEMBER", d.name())
	} else {
		args = append(append(args, "fromlonlat"), d.place()...)
	}
	if rapid.Bool().Draw(d.T, "box") {
		return append(args, "BYBOX", d.length(), d.length(), d.unit())
	}
	return append(args, "BYRADIUS", d.length(), d.unit())
}

func (d *geoDraw) options() []string {
	args := d.words("ASC", "DESC", "ASC", "WITHCOORD", "WITHDIST", "WITHHASH")
	if rapid.IntRange(0, 3).Draw(d.T, "some") == 0 {
		args = append(args, "COUNT", rapid.SampledFrom([]string{"1", "3", "100", "0", "x"}).Draw(d.T, "count"))
		args = append(args, d.maybe(4, "ANY")...)
	}
	return append(args, d.maybe(20, "x")...)
}

func (d *geoDraw) radiusOptions() []string {
	return append(d.options(), d.maybe(4, rapid.SampledFrom([]string{"STORE", "STOREDIST"}).Draw(d.T, "store"), d.key())...)
}

// Random commands on places are answered as redis-server answers them, and leave the same data.
func TestPlacesAreThoseOfRedis(t *testing.T) {
	w := newZSetTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		w.limit(rt, rapid.SampledFrom([]int{0, 10, 100}).Draw(rt, "entries"), 64)
		w.speak(rt, rapid.SampledFrom([]string{"2", "3"}).Draw(rt, "protocol"))
		d := &geoDraw{&zsetDraw{draw: &draw{T: rt}}}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			w.compare(rt, d.geoCommand()...)
		}
		for _, k := range []string{"a", "b", "{a}1", "c"} {
			w.compare(rt, "ZRANGE", k, "0", "-1")
			w.compare(rt, "OBJECT", "ENCODING", k)
		}
	})
}

// What the random commands meet rarely.
func TestGeoErrorsAreThoseOfRedis(t *testing.T) {
	w := newZSetTwins(t)
	w.compare(t, "GEOADD", "g", "13.361389", "38.115556", "Palermo", "15.087269", "37.502669", "Catania")
	w.compare(t, "SET", "s", "v")
	for _, line := range []string{
		"GEOADD g", "GEOADD g 1", "GEOADD g 1 2", "GEOADD g NX", "GEOADD g NX XX 1 2 a", "GEOADD g 1 2 a 3", "GEOADD g 181 1 a", "GEOADD g 1 86 a", "GEOADD g x 1 a",
		"GEOADD g -inf 1 a", "GEOADD s 1 2 a", "GEOADD g CH 1 2 Palermo 3 4 new", "GEOADD g XX 1 2 no", "GEOADD no XX 1 2 m", "GEOPOS g", "GEOPOS no a", "GEOPOS s a", "GEOPOS g Palermo no",
		"GEOHASH g", "GEOHASH g Palermo no", "GEOHASH no a", "GEOHASH s a", "GEODIST g Palermo", "GEODIST g Palermo Catania", "GEODIST g Palermo Catania km",
		"GEODIST g Palermo Catania x", "GEODIST g Palermo Catania km x", "GEODIST g Palermo no", "GEODIST no a b", "GEODIST s a b", "GEODIST g Palermo Palermo",
		"GEORADIUS g 15 37 200 km", "GEORADIUS g 15 37 200", "GEORADIUS g 15 37 -1 km", "GEORADIUS g 15 37 x km", "GEORADIUS g 15 37 1 x", "GEORADIUS g x 37 1 km",
		"GEORADIUS g 15 37 200 km WITHDIST STORE t", "GEORADIUS g 15 37 200 km STORE t", "GEORADIUS g 15 37 200 km STOREDIST t", "GEORADIUS g 15 37 200 km STORE",
		"GEORADIUS_RO g 15 37 200 km STORE t", "GEORADIUS g 15 37 200 km STORE t STOREDIST u", "EXISTS u t", "GEORADIUS no 15 37 200 km STORE t", "EXISTS t",
		"GEORADIUS g 15 37 200 km COUNT 0", "GEORADIUS g 15 37 200 km COUNT x", "GEORADIUS g 15 37 200 km COUNT", "GEORADIUS g 15 37 200 km ANY",
		"GEORADIUSBYMEMBER g no 1 km", "GEORADIUSBYMEMBER g Palermo 200 km", "GEORADIUSBYMEMBER no m x y", "GEORADIUSBYMEMBER no m x y STORE t", "GEORADIUSBYMEMBER_RO g Palermo 200 km STORE t",
		"GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC", "GEOSEARCH g FROMLONLAT 15 37", "GEOSEARCH g BYRADIUS 200 km FROMMEMBER", "GEOSEARCH g BYRADIUS 200 km ASC",
		"GEOSEARCH g FROMLONLAT 15 37 FROMMEMBER Palermo BYRADIUS 1 km", "GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km BYRADIUS 1 km", "GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHCOORD WITHDIST WITHHASH",
		"GEOSEARCH g FROMLONLAT 15 37 BYBOX -1 400 km", "GEOSEARCH g FROMLONLAT 15 37 BYBOX x 400 km", "GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 x km", "GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 1 x",
		"GEOSEARCH g FROMMEMBER no BYRADIUS 1 km", "GEOSEARCH no FROMMEMBER no BYRADIUS 1 km", "GEOSEARCH g FROMLONLAT 200 37 BYRADIUS 1 km", "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km STOREDIST",
		"GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1 ANY", "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km STORE t", "GEOSEARCH s FROMLONLAT 15 37 BYRADIUS 200 km",
		"GEOSEARCHSTORE t g FROMLONLAT 15 37 BYRADIUS 200 km WITHDIST", "GEOSEARCHSTORE t g FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST", "GEOSEARCHSTORE t no FROMLONLAT 15 37 BYRADIUS 200 km", "EXISTS t",
		"GEOSEARCHSTORE g g FROMLONLAT 15 37 BYRADIUS 100 km", "ZRANGE g 0 -1",
	} {
		t.Run(line, func(t *testing.T) { w.compare(t, splitLine(t, line)...) })
	}
}

// Searches among many places find what redis-server finds, however few of them are wanted.
func TestSearchesAmongManyPlacesAreThoseOfRedis(t *testing.T) {
	w := newZSetTwins(t)
	rng := rand.New(rand.NewPCG(1, 2))
	degrees := func(from, width float64) string { return strconv.FormatFloat(from+width*rng.Float64(), 'f', 6, 64) }
	for i := range 700 {
		w.compare(t, "GEOADD", "g", degrees(13, 4), degrees(35, 4), "place:"+strconv.Itoa(i))
	}
	pick := func(of ...string) []string { return strings.Fields(of[rng.IntN(len(of))]) }
	for range 1000 {
		size := strconv.Itoa(1 + rng.IntN(400))
		args := []string{"FROMLONLAT", degrees(13, 4), degrees(35, 4)}
		args = append(args, pick("BYRADIUS "+size+" km", "BYBOX "+size+" "+strconv.Itoa(1+rng.IntN(600))+" km")...)
		args = append(args, pick("", "ASC", "DESC")...)
		args = append(args, pick("", "COUNT 1", "COUNT 10", "COUNT 300", "COUNT 5 ANY", "COUNT 1000")...)
		if rng.IntN(3) == 0 {
			w.compare(t, append(append([]string{"GEOSEARCHSTORE", "d", "g"}, args...), pick("", "STOREDIST")...)...)
			w.compare(t, "ZRANGE", "d", "0", "-1")
			continue
		}
		w.compare(t, append(append([]string{"GEOSEARCH", "g"}, args...), pick("", "WITHDIST", "WITHCOORD WITHHASH", "WITHDIST WITHCOORD")...)...)
	}
}

// GEOADD is logged as ZADD, and nothing is when it changes nothing.
func TestGeoAddEffect(t *testing.T) {
	h := newHarness(t)
	h.args("GEOADD", "g", "CH", "13.361389", "38.115556", "Palermo")
	h.wantEffects("SELECT 0", "ZADD g CH 3479099956230698 Palermo")
	h.args("GEOADD", "g", "CH", "13.361389", "38.115556", "Palermo")
	h.wantEffects()
}
