"""What `ablate doctor` looks at: machine, libraries, folders and W&B, with what is wrong."""
