// What the scripts of the JavaScript clients share. A script is called with "single" or "cluster" and the ports of the
// nodes; each step prints "ok <name>" when it has passed, and the first failure ends the script.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export { assert };
export const cluster = process.argv[2] === 'cluster';
export const ports = process.argv.slice(3).map(Number);
// tls is what a connection needs in the place, undefined where it is in the clear.
export const tls = process.env.TLS_CA && {
  ca: readFileSync(process.env.TLS_CA), cert: readFileSync(process.env.TLS_CERT), key: readFileSync(process.env.TLS_KEY),
};
export const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));

const stepLimit = 20_000; // milliseconds: far above what a step takes on a loaded machine

// step runs one check and reports it under its name.
export async function step(name, check) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('takes too long')), stepLimit);
  });
  try {
    await Promise.race([check(), late]);
  } catch (error) {
    console.log(`FAILED ${name}: ${error.stack}`);
    process.exit(1);
  } finally {
    clearTimeout(timer);
  }
  console.log(`ok ${name}`);
}

// until calls check again and again until it returns something true.
export async function until(check) {
  for (;;) {
    const value = await check();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// blocked waits until the nodes, asked by info, count one client that is blocked.
export async function blocked(info) {
  await until(async () => {
    const texts = await info();
    return texts.some((text) => /blocked_clients:[1-9]/.test(text));
  });
}

// mailbox collects messages; next waits for one.
export function mailbox() {
  const messages = [];
  return {
    put: (...message) => messages.push(message),
    next: () => until(() => messages.shift()),
  };
}

export const library = (name) => `#!lua name=${name}
redis.register_function('${name}_put', function(keys, args) return redis.call('SET', keys[1], args[1]) end)
redis.register_function{function_name='${name}_get',
  callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes'}}`;
