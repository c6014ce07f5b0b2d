import { writeFile } from 'node:fs/promises';
import { admissionParameters, manifestDirectory } from './admission-parameters.ts';

await writeFile(new URL('parameters.yaml', manifestDirectory), admissionParameters());
