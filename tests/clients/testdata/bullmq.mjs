// BullMQ: a queue with workers, priorities, delays, retries, a flow of parent and children, and a repeated job. All of it is
// Lua scripts, streams, sorted sets and blocking pops.
import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq';
import { Cluster, Redis } from 'ioredis';
import { assert, cluster, nodes, step, tls, until } from './check.mjs';

const open = () => (cluster
  ? new Cluster(nodes, { slotsRefreshTimeout: 5000, redisOptions: { maxRetriesPerRequest: null, tls } })
  : new Redis({ ...nodes[0], maxRetriesPerRequest: null, tls }));
const connections = [];
const connection = () => { connections.push(open()); return connections.at(-1); };
const settings = () => ({ connection: connection(), prefix: '{bull}' });

const queue = new Queue('work', settings());
const events = new QueueEvents('work', settings());
const tries = new Map();
const order = [];
const worker = new Worker('work', async (job) => {
  order.push(job.name);
  const tried = (tries.get(job.name) ?? 0) + 1;
  tries.set(job.name, tried);
  if (job.data.failures >= tried) throw new Error('on purpose');
  await job.updateProgress(50);
  return job.data.n * 2;
}, { ...settings(), concurrency: 4, autorun: false });
const failed = [];
for (const part of [queue, events, worker]) part.on('error', (error) => failed.push(error));

await step('queue', async () => {
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady(), worker.waitUntilReady()]);
  const jobs = await queue.addBulk(Array.from({ length: 50 }, (_, n) => ({ name: `job${n}`, data: { n } })));
  assert.equal((await queue.getJobCounts()).waiting, 50);
  worker.run();
  const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 15000)));
  results.forEach((result, n) => assert.equal(result, 2 * n));
  assert.equal((await queue.getJobCounts()).completed, 50);
});

await step('blocked', async () => {
  const start = Date.now();
  const job = await queue.add('late', { n: 4 }, { delay: 200 });
  assert.equal(await job.waitUntilFinished(events, 15000), 8);
  assert.ok(Date.now() - start >= 195, 'a delayed job came too early');
});

await step('retries', async () => {
  const job = await queue.add('shaky', { n: 1, failures: 2 }, { attempts: 3, backoff: { type: 'fixed', delay: 20 } });
  assert.equal(await job.waitUntilFinished(events, 15000), 2);
  assert.equal(tries.get('shaky'), 3);
  const lost = await queue.add('lost', { n: 1, failures: 9 });
  await assert.rejects(lost.waitUntilFinished(events, 15000), /on purpose/);
  assert.equal((await queue.getFailed())[0].id, lost.id);
});

await step('priorities', async () => {
  await queue.pause();
  order.length = 0;
  const jobs = [];
  for (const priority of [3, 1, 2]) jobs.push(await queue.add(`p${priority}`, { n: priority }, { priority }));
  await queue.resume();
  await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 15000)));
  assert.deepEqual([...order].sort(), ['p1', 'p2', 'p3']);
});

await step('flow', async () => {
  const flow = new FlowProducer(settings());
  const child = (n) => ({ name: `child${n}`, queueName: 'work', data: { n } });
  const tree = await flow.add({ name: 'parent', queueName: 'work', data: { n: 21 }, children: [child(1), child(2)] });
  assert.equal(await tree.job.waitUntilFinished(events, 15000), 42);
  assert.deepEqual(Object.values(await tree.job.getChildrenValues()).sort(), [2, 4]);
  await flow.close();
});

await step('repeat', async () => {
  await queue.upsertJobScheduler('tick', { every: 100 }, { name: 'tick', data: { n: 1 } });
  await until(() => (tries.get('tick') ?? 0) >= 2);
  assert.equal(await queue.removeJobScheduler('tick'), true);
});

await step('obliterate', async () => {
  await worker.close();
  await queue.obliterate({ force: true });
  assert.equal((await queue.getJobCounts()).completed, 0);
  assert.deepEqual(failed, []);
});

await events.close();
await queue.close();
for (const open of connections) await open.quit().catch(() => {});
