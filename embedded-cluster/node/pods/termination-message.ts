import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readLog } from '../logs/read-log.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

/** kubelet's limits (kuberuntime: MaxContainerTerminationMessageLength and the constants beside it). */
const longest = { message: 4096, fromLog: 2048, logLines: 80 };

/**
 * Creates the file that a container sees as its terminationMessagePath. The container's user may write to it,
 * whichever user that is.
 */
export async function makeMessageFile(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '');
  await chmod(path, 0o666);
  return path;
}

/** Returns the container's termination message, cut to 4096 bytes. */
export async function readMessageFile(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(longest.message), 0, longest.message, 0);
    return buffer.subarray(0, bytesRead).toString();
  } finally {
    await file.close();
  }
}

/** Returns the end of the container's log, for the policy FallbackToLogsOnError. */
export async function messageFromLog(logPath: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readLog(logPath, { timestamps: false, tailLines: longest.logLines })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).subarray(-longest.fromLog).toString();
}
