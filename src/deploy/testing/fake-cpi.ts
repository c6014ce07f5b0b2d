/**
 * A CPI whose cloud is a directory: `fake-cpi.ts <directory>`, with the request on stdin.
 * `<directory>/fault.json` makes one call fail, once (see Fault). Every request is appended to
 * `<directory>/requests.jsonl`.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';

export interface Fault {
  readonly method: string;
  /**
   * The `kill` kinds and `orphan` kill the caller: instead of the work, after the work and before the
   * response, or a while before the work.
   */
  readonly kind: 'kill-before' | 'kill-after' | 'orphan' | 'garbage' | 'exit' | 'hang' | 'wait' | 'error';
  /** The type of the error for the kind `error`. */
  readonly type?: string;
  /** The message of the error, or what the CPI waits for. */
  readonly message?: string;
}

export interface FakeVm {
  readonly agentId: string;
  readonly env: {
    readonly bosh: { readonly mbus: { readonly cert: { certificate: string; private_key: string } } };
  };
  readonly stemcell: string;
  readonly diskHints: readonly string[];
  readonly disks: readonly string[];
  readonly metadata?: unknown;
}

type Args = readonly unknown[];

class CloudError extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

const directory = process.argv[2] ?? '';
const path = (kind: string, cid: unknown): string => join(directory, kind, `${String(cid)}.json`);
const write = (kind: string, cid: unknown, value: unknown): void => {
  mkdirSync(join(directory, kind), { recursive: true });
  writeFileSync(path(kind, cid), JSON.stringify(value));
};
const readVm = (cid: unknown): FakeVm => {
  if (!existsSync(path('vms', cid)))
    throw new CloudError('Bosh::Clouds::VMNotFound', `VM '${String(cid)}' not found`);
  return JSON.parse(readFileSync(path('vms', cid), 'utf8'));
};
const remove = (kind: string, cid: unknown, type: string): null => {
  if (!existsSync(path(kind, cid))) throw new CloudError(type, `'${String(cid)}' not found`);
  rmSync(path(kind, cid));
  return null;
};

const methods: Readonly<Record<string, (args: Args) => unknown>> = {
  info: () => ({ api_version: 3, stemcell_formats: ['fake-format'] }),
  create_stemcell: ([image, properties]) => {
    if (!existsSync(String(image)))
      throw new CloudError('Bosh::Clouds::CloudError', `no image ${String(image)}`);
    const cid = `stemcell-${String((properties as Record<string, unknown>)['image_reference'])}`;
    write('stemcells', cid, properties);
    return cid;
  },
  delete_stemcell: ([cid]) => remove('stemcells', cid, 'Bosh::Clouds::StemcellNotFound'),
  create_vm: ([agentId, stemcell, , networks, diskHints, env]) => {
    const cid = `vm-${String(agentId)}`;
    if (!existsSync(path('vms', cid))) write('vms', cid, { agentId, stemcell, env, diskHints, disks: [] });
    return [cid, networks];
  },
  delete_vm: ([cid]) => remove('vms', cid, 'Bosh::Clouds::VMNotFound'),
  has_vm: ([cid]) => existsSync(path('vms', cid)),
  has_disk: ([cid]) => existsSync(path('disks', cid)),
  describe_vm: () => {
    const problemPath = join(directory, 'trouble.txt');
    return existsSync(problemPath) ? readFileSync(problemPath, 'utf8') : null;
  },
  set_vm_metadata: ([cid, metadata]) => (write('vms', cid, { ...readVm(cid), metadata }), null),
  create_disk: ([size, properties]) => {
    const cid = `disk-${randomUUID()}`;
    write('disks', cid, { size, properties });
    return cid;
  },
  delete_disk: ([cid]) => remove('disks', cid, 'Bosh::Clouds::DiskNotFound'),
  attach_disk: ([vm, disk]) => {
    const found = readVm(vm);
    write('vms', vm, { ...found, disks: [...new Set([...found.disks, String(disk)])] });
    return { path: `/warden-cpi-dev/disks/${String(disk)}/store` };
  },
  detach_disk: ([vm, disk]) => {
    const found = readVm(vm);
    if (!found.disks.includes(String(disk)))
      throw new CloudError('Bosh::Clouds::DiskNotAttached', `'${String(disk)}' is not attached`);
    write('vms', vm, { ...found, disks: found.disks.filter((cid) => cid !== disk) });
    return null;
  },
  set_disk_metadata: ([cid, metadata]) => {
    const disk: object = JSON.parse(readFileSync(path('disks', cid), 'utf8'));
    write('disks', cid, { ...disk, metadata });
    return null;
  },
};

function takeFault(method: string): Fault | undefined {
  const file = join(directory, 'fault.json');
  if (!existsSync(file)) return undefined;
  const fault: Fault = JSON.parse(readFileSync(file, 'utf8'));
  if (fault.method !== method) return undefined;
  rmSync(file);
  return fault;
}

function answer(method: string, args: Args): object {
  try {
    const run = methods[method];
    if (run === undefined) throw new CloudError('Bosh::Clouds::NotImplemented', `no method '${method}'`);
    return { result: run(args), error: null, log: '' };
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    return { result: null, error: { type: error.type, message: error.message, ok_to_retry: false }, log: '' };
  }
}

/** Performs the fault. Returns true if it replaces the work. */
function goWrong({ kind, type, message }: Fault): boolean {
  switch (kind) {
    case 'kill-before':
      process.kill(process.ppid, 'SIGKILL');
      return true;
    case 'orphan':
      process.kill(process.ppid, 'SIGKILL');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
      return false;
    case 'hang':
      setInterval(() => readdirSync(directory), 1000);
      return true;
    case 'wait':
      process.stderr.write(`waiting for ${message ?? 'the cloud'}\n`);
      return false;
    case 'error': {
      const error = {
        type: type ?? 'Bosh::Clouds::CloudError',
        message: message ?? 'the cloud says no',
        ok_to_retry: false,
      };
      process.stdout.write(JSON.stringify({ result: null, error, log: '' }));
      return true;
    }
    default:
      return false;
  }
}

function answerWrongly(kind: Fault['kind']): void {
  if (kind === 'kill-after') process.kill(process.ppid, 'SIGKILL');
  if (kind === 'exit' || kind === 'garbage') process.stderr.write('last words of the CPI\n');
  if (kind === 'exit') process.exitCode = 7;
}

function serve(): void {
  const text = readFileSync(0, 'utf8');
  const { method, arguments: args } = JSON.parse(text) as { method: string; arguments: Args };
  mkdirSync(join(directory, 'vms'), { recursive: true });
  mkdirSync(join(directory, 'disks'), { recursive: true });
  appendFileSync(join(directory, 'requests.jsonl'), `${text}\n`);
  const fault = takeFault(method);
  if (fault !== undefined && goWrong(fault)) return;
  const response = answer(method, args);
  if (fault !== undefined) answerWrongly(fault.kind);
  process.stdout.write(fault?.kind === 'garbage' ? 'not json at all' : JSON.stringify(response));
}

if (process.argv[1]?.endsWith('fake-cpi.ts') === true) serve();
