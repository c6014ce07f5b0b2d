import { writeFile } from 'node:fs/promises';
import { errorDocs } from '../src/errors/error-docs.ts';

await writeFile(new URL('../docs/errors.md', import.meta.url), errorDocs());
