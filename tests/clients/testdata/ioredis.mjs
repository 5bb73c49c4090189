// ioredis against one node or a cluster.
import { Cluster, Redis } from 'ioredis';
import { assert, blocked, cluster, library, mailbox, nodes, step, tls, until } from './check.mjs';

const openCluster = (options) => new Cluster(nodes, { slotsRefreshTimeout: 5000, redisOptions: { tls }, ...options });
const open = () => (cluster ? openCluster() : new Redis({ ...nodes[0], tls }));
const client = open();
const masters = () => (cluster ? client.nodes('master') : [client]);
const infos = () => Promise.all(masters().map((node) => node.info('clients')));

await step('commands', async () => {
  for (let i = 0; i < 30; i++) {
    assert.equal(await client.set(`io:${i}`, `v${i}`), 'OK');
  }
  assert.equal(await client.get('io:7'), 'v7');
  await client.hset('io:h', { a: 1, b: 2 });
  assert.deepEqual(await client.hgetall('io:h'), { a: '1', b: '2' });
  await client.zadd('io:z', 1, 'x', 2, 'y');
  assert.deepEqual(await client.zrange('io:z', 0, -1, 'WITHSCORES'), ['x', '1', 'y', '2']);
  const id = await client.xadd('io:x', '*', 'f', 'v');
  assert.deepEqual(await client.xrange('io:x', '-', '+'), [[id, ['f', 'v']]]);
  await assert.rejects(client.incr('io:7'), /not an integer/);
});

await step('pipeline', async () => {
  const pipeline = client.pipeline();
  for (let i = 0; i < 100; i++) pipeline.set(`io:{p}:${i}`, i).get(`io:{p}:${i}`);
  const replies = await pipeline.exec();
  assert.equal(replies.length, 200);
  replies.forEach(([error, reply], i) => assert.deepEqual([error, reply], [null, i % 2 ? String((i - 1) / 2) : 'OK']));
});

await step('multi', async () => {
  const replies = await client.multi().set('io:{m}:a', 1).incr('io:{m}:a').get('io:{m}:a').exec();
  assert.deepEqual(replies, [[null, 'OK'], [null, 2], [null, '2']]);
  const wrong = await client.multi().set('io:{m}:s', 'x').incr('io:{m}:s').exec();
  assert.match(wrong[1][0].message, /not an integer/);
  if (!cluster) {
    await client.watch('io:w');
    const other = open();
    await other.set('io:w', 'changed');
    assert.equal(await client.multi().set('io:w', 'mine').exec(), null);
    await other.quit();
  }
});

await step('lua', async () => {
  client.defineCommand('addup', { numberOfKeys: 2, lua: 'return redis.call("INCRBY", KEYS[1], ARGV[1]) + #KEYS' });
  assert.equal(await client.addup('io:{l}:a', 'io:{l}:b', 5), 7);
  assert.equal(await client.addup('io:{l}:a', 'io:{l}:b', 5), 12);
  assert.deepEqual(await client.eval('return {1, "two", {3}, false, 3.9}', 1, 'io:l'), [1, 'two', [3], null, 3]);
  await assert.rejects(client.eval('return redis.error_reply("MY error")', 1, 'io:l'), /MY error/);
});

await step('functions', async () => {
  for (const node of masters()) assert.equal(await node.function('LOAD', 'REPLACE', library('iolib')), 'iolib');
  assert.equal(await client.fcall('iolib_put', 1, 'io:f', 'v'), 'OK');
  assert.equal(await client.fcall_ro('iolib_get', 1, 'io:f'), 'v');
  for (const node of masters()) await node.function('DELETE', 'iolib');
});

await step('pubsub', async () => {
  const subscriber = open();
  const box = mailbox();
  subscriber.on('message', box.put);
  subscriber.on('pmessage', box.put);
  assert.equal(await subscriber.subscribe('io:ch'), 1);
  assert.equal(await subscriber.psubscribe('io:p*'), 2);
  await client.publish('io:ch', 'one');
  assert.deepEqual(await box.next(), ['io:ch', 'one']);
  await client.publish('io:pat', 'two');
  assert.deepEqual(await box.next(), ['io:p*', 'io:pat', 'two']);
  await subscriber.unsubscribe('io:ch');
  await subscriber.quit();
});

await step('sharded', async () => {
  const subscriber = cluster ? openCluster({ shardedSubscribers: true }) : open();
  const box = mailbox();
  subscriber.on('smessage', box.put);
  assert.equal(await subscriber.ssubscribe('io:sharded'), 1);
  await until(() => client.spublish('io:sharded', 'three'));
  assert.deepEqual((await box.next()).slice(0, 2), ['io:sharded', 'three']);
  await subscriber.quit();
});

await step('blocking', async () => {
  const waiting = open();
  const popped = waiting.blpop('io:{q}:a', 'io:{q}:b', 15);
  await blocked(infos);
  await client.rpush('io:{q}:b', 'job');
  assert.deepEqual(await popped, ['io:{q}:b', 'job']);
  assert.equal(await waiting.blpop('io:{q}:a', 0.05), null);
  const read = waiting.xread('BLOCK', 15000, 'STREAMS', 'io:{q}:s', '$');
  await blocked(infos);
  const id = await client.xadd('io:{q}:s', '*', 'f', 'v');
  assert.deepEqual(await read, [['io:{q}:s', [[id, ['f', 'v']]]]]);
  await waiting.quit();
});

await client.quit();
