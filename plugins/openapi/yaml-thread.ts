/** The script of the thread that converts the OpenAPI document to YAML. */
import { stringify } from 'yaml';
import { performTasks } from '../platform/thread-pool.js';

performTasks((json: string) => stringify(JSON.parse(json), { strict: false }));
