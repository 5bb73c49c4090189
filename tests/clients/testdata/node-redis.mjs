// node-redis against one node or a cluster, in RESP3, with its client-side cache.
import { createClient, createCluster, defineScript } from 'redis';
import { assert, blocked, cluster, library, mailbox, nodes, ports, step, tls, until } from './check.mjs';

const url = (port) => `${tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`;
const socket = tls ? { tls: true, ...tls } : {};
const addup = defineScript({
  SCRIPT: 'return redis.call("INCRBY", KEYS[1], ARGV[1])',
  NUMBER_OF_KEYS: 1,
  parseCommand: (parser, key, amount) => { parser.pushKey(key); parser.push(String(amount)); },
  transformReply: undefined,
});

async function open(options = {}) {
  const client = cluster
    ? createCluster({ rootNodes: ports.map((port) => ({ url: url(port) })), defaults: { RESP: 3, socket }, RESP: 3, scripts: { addup }, ...options })
    : createClient({ url: url(ports[0]), RESP: 3, socket, scripts: { addup }, ...options });
  client.on('error', (error) => { console.log(`FAILED connection: ${error.stack}`); process.exit(1); });
  await client.connect();
  return client;
}

const client = await open();
const direct = await Promise.all(ports.map((port) => createClient({ url: url(port), RESP: 3, socket }).connect()));
const infos = () => Promise.all(direct.map((node) => node.info('clients')));

await step('commands', async () => {
  for (let i = 0; i < 30; i++) assert.equal(await client.set(`nr:${i}`, `v${i}`), 'OK');
  assert.equal(await client.get('nr:7'), 'v7');
  await client.hSet('nr:h', { a: '1', b: '2' });
  assert.deepEqual({ ...(await client.hGetAll('nr:h')) }, { a: '1', b: '2' });
  await client.zAdd('nr:z', [{ score: 1.5, value: 'x' }, { score: 2, value: 'y' }]);
  assert.deepEqual(await client.zRangeWithScores('nr:z', 0, -1), [{ value: 'x', score: 1.5 }, { value: 'y', score: 2 }]);
  await client.geoAdd('nr:g', { longitude: 13.4, latitude: 52.5, member: 'berlin' });
  assert.deepEqual(await client.geoSearch('nr:g', { longitude: 13, latitude: 52 }, { radius: 100, unit: 'km' }), ['berlin']);
  await assert.rejects(client.incr('nr:7'), /not an integer/);
});

await step('pipeline', async () => {
  const replies = await Promise.all(Array.from({ length: 200 }, (_, i) => client.set(`nr:p:${i}`, String(i))));
  assert.ok(replies.every((reply) => reply === 'OK'));
  const values = await Promise.all(Array.from({ length: 200 }, (_, i) => client.get(`nr:p:${i}`)));
  values.forEach((value, i) => assert.equal(value, String(i)));
});

await step('multi', async () => {
  assert.deepEqual(await client.multi().set('nr:{m}:a', '1').incr('nr:{m}:a').get('nr:{m}:a').exec(), ['OK', 2, '2']);
  if (!cluster) {
    const other = await open();
    await client.watch('nr:w');
    await other.set('nr:w', 'changed');
    await assert.rejects(client.multi().set('nr:w', 'mine').exec(), { name: 'Error' });
    await other.close();
  }
});

await step('lua', async () => {
  await client.del('nr:l');
  assert.equal(await client.addup('nr:l', 5), 5);
  assert.equal(await client.addup('nr:l', 5), 10);
  assert.deepEqual(await client.eval('return {1, "two", {3}, false}', { keys: ['nr:l'] }), [1, 'two', [3], null]);
});

await step('functions', async () => {
  for (const node of direct) await node.functionLoad(library('nrlib'), { REPLACE: true }).catch((error) => {
    if (!/READONLY/.test(error.message)) throw error;
  });
  assert.equal(await client.fCall('nrlib_put', { keys: ['nr:f'], arguments: ['v'] }), 'OK');
  assert.equal(await client.fCallRo('nrlib_get', { keys: ['nr:f'] }), 'v');
  assert.equal((await direct[0].functionList({ LIBRARYNAME: 'nrlib' }))[0].library_name, 'nrlib');
});

await step('pubsub', async () => {
  const subscriber = await open();
  const box = mailbox();
  await subscriber.subscribe('nr:ch', box.put);
  await subscriber.pSubscribe('nr:p*', box.put);
  await client.publish('nr:ch', 'one');
  assert.deepEqual(await box.next(), ['one', 'nr:ch']);
  await client.publish('nr:pat', 'two');
  assert.deepEqual(await box.next(), ['two', 'nr:pat']);
  await subscriber.unsubscribe('nr:ch');
  await subscriber.pUnsubscribe('nr:p*');
  await subscriber.close();
});

await step('sharded', async () => {
  const subscriber = await open();
  const box = mailbox();
  await subscriber.sSubscribe('nr:sharded', box.put);
  await until(() => client.sPublish('nr:sharded', 'three'));
  assert.deepEqual(await box.next(), ['three', 'nr:sharded']);
  await subscriber.sUnsubscribe('nr:sharded');
  await subscriber.close();
});

await step('blocking', async () => {
  const waiting = await open();
  const popped = waiting.blPop(['nr:{q}:a', 'nr:{q}:b'], 15);
  await blocked(infos);
  await client.rPush('nr:{q}:b', 'job');
  assert.deepEqual({ ...(await popped) }, { key: 'nr:{q}:b', element: 'job' });
  assert.equal(await waiting.blPop('nr:{q}:a', 0.05), null);
  await waiting.close();
});

await step('cache', async () => {
  const cached = await open({ clientSideCache: { ttl: 0, maxEntries: 100, evictPolicy: 'LRU' } });
  await client.set('nr:c', 'old');
  assert.equal(await cached.get('nr:c'), 'old');
  assert.equal(await cached.get('nr:c'), 'old');
  await client.set('nr:c', 'new');
  await until(async () => (await cached.get('nr:c')) === 'new');
  await cached.close();
});

await client.close();
for (const node of direct) await node.close();
