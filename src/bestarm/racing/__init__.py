"""The main job: real candidates, evaluated in parallel, durable, to be continued and shown."""
