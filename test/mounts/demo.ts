// npm run volumes:demo: on real shares of NFS and SMB in a guest kernel if possible, otherwise on a local
// directory.
import { runDemo } from '../../src/volumes/demo/cli.ts';
import { demoOnShare, demoPassword } from './demo-on-share.ts';
import { Guest, noGuest } from './guest.ts';

const out = (text: string): void => void process.stdout.write(text);
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
const why = noGuest();
try {
  process.exitCode = why === false ? await inGuest() : await local(why);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function local(reason: string): Promise<number> {
  out(`local bind, no NFS | a real share ${reason}\n`);
  return runDemo({ out, signal: stopping.signal });
}

async function inGuest(): Promise<number> {
  out('Servers of NFS and SMB and a User-Mode-Linux guest start; what follows runs in the guest.\n');
  const guest = await Guest.boot({ password: demoPassword });
  try {
    let worst = 0;
    for (const protocol of ['nfs', 'smb'] as const) {
      stopping.signal.throwIfAborted();
      const { code, text } = await demoOnShare(guest, protocol);
      out(text);
      worst = Math.max(worst, code);
    }
    return worst;
  } finally {
    await guest.stop();
  }
}
