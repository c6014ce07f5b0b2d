import { copies } from './testing/copies.ts';
import { testKilled } from './testing/killed-changes.ts';

testKilled([...copies('a snapshot', 'later'), ...copies('a clone', 'other'), ...copies('a clone', 'later')]);
