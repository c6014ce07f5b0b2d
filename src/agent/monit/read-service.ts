import type { MonitSubject } from '../../bosh/monit/monit-service.ts';
import type { ProcessTable } from '../process/process-table.ts';
import { findByCommandLine } from './matching-process.ts';
import { findByPidFile } from './pid-file.ts';
import type { KnownProcess, PidFileResult } from './pid-file.ts';
import type { Probes } from './probes.ts';

/**
 * The result of a check: a service is up if its process runs or its file exists. A host always counts as up;
 * only its rules check it.
 */
export type ServiceReading = PidFileResult | { readonly live?: undefined; readonly problem?: undefined };

/** Checks if a service is up: it is up if the result has no problem. */
export async function readService(
  subject: MonitSubject,
  { table, probes }: { readonly table: ProcessTable; readonly probes: Probes },
  evidence: KnownProcess,
): Promise<ServiceReading> {
  switch (subject.kind) {
    case 'pidfile':
      return findByPidFile(subject.path, table, evidence);
    case 'matching':
      return findByCommandLine(subject.pattern, table, evidence);
    case 'file': {
      const file = await probes.file(subject.path);
      return file === undefined ? { problem: `there is no file ${subject.path}` } : {};
    }
    case 'host':
      return {};
  }
}
